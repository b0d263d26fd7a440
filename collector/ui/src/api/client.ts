// Requests to the collector's public HTTP API, with the browser's session.

/** An answer that is no success. `status` 0: nothing answered. `message` says what to do, in the collector's words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export type Params = Record<string, string | number | boolean | null | undefined>;

/** The address of an operation below /api/v1, with its parameters; empty ones are left out. */
export function apiUrl(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  const asked = query.toString();
  return new URL(`api/v1${path}${asked ? `?${asked}` : ""}`, document.baseURI).toString();
}

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
    throw new ApiError(0, "The collector does not answer. Is it running?");
  }
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
