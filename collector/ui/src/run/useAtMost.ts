import { useEffect, useRef, useState } from "react";

/** The value, taken over at once and then at most every `ms`; the last one always. */
export function useAtMost<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const since = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, since.current + ms - Date.now());
    const timer = setTimeout(() => {
      since.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}
