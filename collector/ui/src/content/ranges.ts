// The bytes of a content by range: only what is looked at is fetched.
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError, apiUrl } from "../api/client";

export const CHUNK = 128 * 1024;
/** A text is read, and searched, up to here; the rest is there as bytes and as a download. */
export const MOST_TEXT = 16 * 1024 * 1024;

/** Bytes `from` up to and without `to`. Throws ApiError. */
export async function bytesOf(ref: string, from: number, to: number, signal?: AbortSignal): Promise<Uint8Array> {
  const headers = { range: `bytes=${from}-${to - 1}` };
  let answer: Response;
  try {
    answer = await fetch(apiUrl(`/content/${ref}`), { credentials: "same-origin", headers, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The collector does not answer. Is it running?");
  }
  if (!answer.ok) throw new ApiError(answer.status, `The collector answered with ${answer.status}.`);
  return new Uint8Array(await answer.arrayBuffer());
}

export type ReadText = { text: string; isWhole: boolean; error: ApiError | null; more: () => void; rest: () => void };

/** A content's text from its beginning on. `more` reads the next chunk, `rest` all up to MOST_TEXT. */
export function useText(ref: string, size: number): ReadText {
  const [state, setState] = useState({ ref: "", text: "", to: 0, error: null as ApiError | null });
  const wanted = useRef(0);
  const isBusy = useRef(false);
  const latest = useRef({ ref: "", to: 0, decoder: new TextDecoder() });
  const last = Math.min(size, MOST_TEXT);
  const run = useCallback(async () => {
    const mine = latest.current;
    if (isBusy.current) return;
    isBusy.current = true;
    try {
      while (mine === latest.current && mine.to < Math.min(wanted.current, last)) {
        const to = Math.min(last, mine.to + (wanted.current - mine.to > CHUNK ? 8 * CHUNK : CHUNK));
        const bytes = await bytesOf(mine.ref, mine.to, to);
        if (mine !== latest.current) return;
        mine.to = to;
        const text = mine.decoder.decode(bytes, { stream: to < size });
        setState((before) => ({
          ref: mine.ref,
          text: before.ref === mine.ref ? before.text + text : text,
          to,
          error: null,
        }));
      }
    } catch (error) {
      if (mine === latest.current && error instanceof ApiError)
        setState((before) => ({ ...before, ref: mine.ref, error }));
    } finally {
      if (mine === latest.current) isBusy.current = false;
    }
  }, [last, size]);
  const ask = useCallback(
    (to: number) => {
      wanted.current = Math.max(wanted.current, to);
      void run();
    },
    [run],
  );
  useEffect(() => {
    latest.current = { ref, to: 0, decoder: new TextDecoder() };
    isBusy.current = false;
    wanted.current = 0;
    ask(CHUNK);
    return () => {
      latest.current = { ref: "", to: 0, decoder: new TextDecoder() };
      isBusy.current = false;
    };
  }, [ref, ask]);
  const isMine = state.ref === ref;
  return {
    text: isMine ? state.text : "",
    isWhole: size === 0 || (isMine && state.to >= size),
    error: isMine ? state.error : null,
    more: useCallback(() => ask(latest.current.to + CHUNK), [ask]),
    rest: useCallback(() => ask(last), [ask, last]),
  };
}

/** The chunks that are looked at, by number; `need` fetches one. */
export function useChunks(ref: string, size: number) {
  const chunks = useRef(new Map<number, Uint8Array | null>());
  const [, draw] = useState(0);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    chunks.current = new Map();
    draw((n) => n + 1);
  }, [ref]);
  const need = useCallback(
    (n: number) => {
      const mine = chunks.current;
      if (mine.has(n)) return;
      mine.set(n, null);
      bytesOf(ref, n * CHUNK, Math.min(size, (n + 1) * CHUNK)).then(
        (bytes) => {
          mine.set(n, bytes);
          draw((turn) => turn + 1);
        },
        (failed: ApiError) => {
          mine.delete(n);
          setError(failed);
        },
      );
    },
    [ref, size],
  );
  return { chunk: (n: number) => chunks.current.get(n) ?? null, need, error };
}
