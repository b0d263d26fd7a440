// Requests to the collector's public HTTP API, with the browser's session.
import { heard, heardNothing } from "./connection";

/** An answer that is no success. `status` 0: nothing answered. `message` says what to do, in the collector's words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type Param = string | number | boolean | null | undefined;
export type Params = Record<string, Param | readonly Param[]>;

/** The address of an operation below /api/v1, with its parameters, lists as repeated ones; empty ones are left out. */
export function apiUrl(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, given] of Object.entries(params))
    for (const value of isList(given) ? given : [given])
      if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
  const asked = query.toString();
  return new URL(`api/v1${path}${asked ? `?${asked}` : ""}`, document.baseURI).toString();
}

const isList = (given: Param | readonly Param[]): given is readonly Param[] => Array.isArray(given);

/** The answer of a GET, as JSON. Throws ApiError. */
export function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  return send<T>("GET", apiUrl(path, params), undefined, signal);
}

/** The answer of a GET, as text. Throws ApiError. */
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await ask("GET", apiUrl(path), undefined, signal)).text();
}

/** Sends JSON. Throws ApiError. */
export function post<T>(path: string, body: unknown): Promise<T> {
  return send<T>("POST", apiUrl(path), body);
}

/** Sends a DELETE. Throws ApiError. */
export function remove<T>(path: string): Promise<T> {
  return send<T>("DELETE", apiUrl(path), {});
}

async function send<T>(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await (await ask(method, url, body, signal)).json()) as T;
}

/** An answer that is a success. Throws ApiError. */
async function ask(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", signal: signal ?? null };
  if (body !== undefined)
    Object.assign(init, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  let answer: Response;
  try {
    answer = await fetch(url, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    heardNothing();
    throw new ApiError(0, "The collector does not answer. Is it running?");
  }
  // A key that is refused at sign-in does not end a session.
  heard(answer.status === 401 && method === "POST" && url === apiUrl("/session") ? 200 : answer.status);
  if (!answer.ok) throw new ApiError(answer.status, await reason(answer));
  return answer;
}

async function reason(answer: Response): Promise<string> {
  try {
    const said = (await answer.json()) as { error?: { message?: string }; detail?: unknown };
    return said.error?.message ?? JSON.stringify(said.detail ?? said);
  } catch {
    return `The collector answered with ${answer.status}.`;
  }
}
