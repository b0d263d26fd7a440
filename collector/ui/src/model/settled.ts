import { useEffect, useState } from "react";

import type { Playhead } from "./playhead";

/** Where the playhead came to rest for `ms`. While it moves, who uses this is not drawn again. */
export function useRest(head: Playhead, ms: number): number {
  const [at, setAt] = useState(head.at);
  useEffect(() => {
    let timer = 0;
    const wait = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setAt(head.at), ms);
    };
    wait();
    const leave = head.subscribe(wait);
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [head, ms]);
  return at;
}
