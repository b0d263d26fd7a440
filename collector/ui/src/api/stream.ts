// A live stream over as many connections as it takes.
import type { RecordedEvent } from "./types";

/** `moved`: events of a run have other seqs now. `missed`: events may have been missed: read again. `lost`: whether the connection is lost. `ended`: nothing will follow. */
export type Handlers = {
  event: (event: RecordedEvent) => void;
  moved?: () => void;
  missed?: () => void;
  lost?: (isLost: boolean) => void;
  ended?: () => void;
};

const FIRST_DELAY_MS = 1_000;
const LAST_DELAY_MS = 30_000;

/**
 * Follows the stream at `url` until its last event, or until the function is called that it returns.
 *
 * The collector ends each connection after a while. The browser then connects again by itself, with the last id, and
 * nothing is missed. It gives up after an answer that is no stream (a proxy's 502, 503 for too many streams, 410 for a
 * position that is too old): then the stream is opened anew, later and later.
 */
export function follow(url: string, handlers: () => Handlers): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let delay = FIRST_DELAY_MS;
  let isAnew = false;
  const connect = () => {
    const opened = new EventSource(url, { withCredentials: true });
    source = opened;
    let isEndExpected = false;
    const parsed = (message: MessageEvent<string>) => handlers().event(JSON.parse(message.data) as RecordedEvent);
    opened.onmessage = parsed;
    opened.addEventListener("changed", parsed);
    opened.addEventListener("moved", () => handlers().moved?.());
    opened.addEventListener("end", (message: MessageEvent<string>) => {
      if ((JSON.parse(message.data) as { reconnect: boolean }).reconnect) isEndExpected = true;
      else {
        opened.close();
        handlers().ended?.();
      }
    });
    opened.onopen = () => {
      delay = FIRST_DELAY_MS;
      isEndExpected = false;
      handlers().lost?.(false);
      if (isAnew) handlers().missed?.();
      isAnew = false;
    };
    opened.onerror = () => {
      if (opened.readyState === EventSource.CLOSED) {
        handlers().lost?.(true);
        isAnew = true;
        timer = setTimeout(connect, delay);
        delay = Math.min(delay * 2, LAST_DELAY_MS);
      } else if (!isEndExpected) handlers().lost?.(true);
      isEndExpected = false;
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
