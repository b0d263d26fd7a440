// Keys that are pressed anywhere in the page.
import { useEffect, useEffectEvent } from "react";

/** Calls `press` for each key, while the component is shown. */
export function useKeyPress(press: (event: KeyboardEvent) => void): void {
  const newest = useEffectEvent(press);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => newest(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
