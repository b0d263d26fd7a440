import { useEffect, useState } from "react";

/** Changes when the theme does: what is drawn on a canvas is drawn again. */
export function useTheme(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const change = () => setChanges((n) => n + 1);
    const watch = new MutationObserver(change);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    dark.addEventListener("change", change);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", change);
    };
  }, []);
  return changes;
}
