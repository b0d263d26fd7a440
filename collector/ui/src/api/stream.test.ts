import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { follow } from "./stream";
import type { RecordedEvent } from "./types";

/** What a browser does with an EventSource, as the test says: each connection that was made is in `sources`. */
class FakeEventSource extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  readyState = FakeEventSource.CONNECTING;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onmessage: ((message: MessageEvent<string>) => void) | null = null;
  constructor(readonly url: string) {
    super();
    sources.push(this);
  }
  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }
  open(): void {
    this.readyState = FakeEventSource.OPEN;
    this.onopen?.();
  }
  /** The connection is over: the browser connects again by itself, unless the answer was refused. */
  fails(isRefused = false): void {
    if (this.readyState === FakeEventSource.CLOSED) return;
    this.readyState = isRefused ? FakeEventSource.CLOSED : FakeEventSource.CONNECTING;
    this.onerror?.();
  }
  sends(kind: string, value: object): void {
    const message = new MessageEvent(kind, { data: JSON.stringify(value) });
    if (kind === "message") this.onmessage?.(message);
    else this.dispatchEvent(message);
  }
}

let sources: FakeEventSource[] = [];
let seen: string[] = [];
const handlers = {
  event: (event: RecordedEvent) => void seen.push(`event ${event.seq}`),
  missed: () => void seen.push("missed"),
  lost: (isLost: boolean) => void seen.push(isLost ? "lost" : "live"),
};
const source = (): FakeEventSource => sources.at(-1) as FakeEventSource;

beforeEach(() => {
  [sources, seen] = [[], []];
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeEventSource);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a stream goes on when the collector ends a connection and asks to come back", () => {
  follow("/runs/stream", () => handlers);
  source().open();
  for (let seq = 1; seq <= 5; seq++) {
    source().sends("message", { seq });
    source().sends("end", { reason: "time", reconnect: true });
    source().fails();
    source().open(); // as the browser does, after the `retry` of the stream
  }
  expect(sources.length).toBe(1); // so the browser sends the last id, and nothing is missed
  expect(source().readyState).toBe(FakeEventSource.OPEN);
  expect(seen).toEqual(["live", ...[1, 2, 3, 4, 5].flatMap((seq) => [`event ${seq}`, "live"])]);
});

test("a stream is over after its last event", () => {
  follow("/runs/r/events", () => handlers);
  source().open();
  source().sends("end", { reason: "ended", reconnect: false });
  source().fails();
  vi.advanceTimersByTime(600_000);
  expect([sources.length, source().readyState]).toEqual([1, FakeEventSource.CLOSED]);
});

test("a connection that breaks is said to be lost until it is back", () => {
  follow("/runs/stream", () => handlers);
  source().open();
  source().fails();
  source().open();
  expect(seen).toEqual(["live", "lost", "live"]);
});

test("a stream that is refused is opened anew, later and later, and what was missed is read again", () => {
  follow("/runs/stream", () => handlers);
  source().fails(true);
  const delays = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
  for (const [number, delay] of delays.entries()) {
    vi.advanceTimersByTime(delay - 1);
    expect(sources.length).toBe(number + 1);
    vi.advanceTimersByTime(1);
    expect(sources.length).toBe(number + 2);
    source().fails(true);
  }
  vi.advanceTimersByTime(30_000);
  seen = [];
  source().open();
  expect(seen).toEqual(["live", "missed"]);
  source().fails(true);
  vi.advanceTimersByTime(1_000);
  expect(sources.length).toBe(delays.length + 3);
});

test("nothing is opened any more once nobody follows", () => {
  const stop = follow("/runs/stream", () => handlers);
  source().fails(true);
  stop();
  vi.advanceTimersByTime(600_000);
  expect(sources.length).toBe(1);
});
