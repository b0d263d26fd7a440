// Events as they become known: server-sent events, resumed by the browser where they were cut.
import { useEffect, useRef } from "react";

import { apiUrl, type Params } from "./client";
import type { RecordedEvent } from "./types";

type Handlers = { event: (event: RecordedEvent) => void; moved?: () => void; lost?: (isLost: boolean) => void };

/** Follows a stream while the component is shown; `path` null: does not. Handlers may change without a reconnect. */
export function useLive(path: string | null, params: Params, handlers: Handlers): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  const url = path === null ? null : apiUrl(path, params);
  useEffect(() => {
    if (url === null) return;
    const source = new EventSource(url, { withCredentials: true });
    const parsed = (message: MessageEvent<string>) => latest.current.event(JSON.parse(message.data) as RecordedEvent);
    source.onmessage = parsed;
    source.addEventListener("changed", parsed);
    source.addEventListener("moved", () => latest.current.moved?.());
    source.addEventListener("end", () => source.close());
    source.onopen = () => latest.current.lost?.(false);
    source.onerror = () => latest.current.lost?.(source.readyState !== EventSource.OPEN);
    return () => source.close();
  }, [url]);
}
