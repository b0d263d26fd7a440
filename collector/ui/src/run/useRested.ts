import { useEffect, useState } from "react";

/** The value once it has not changed for `ms`; the first one that is not null at once. */
export function useRested<T>(value: T | null, ms: number): T | null {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return rested ?? value;
}
