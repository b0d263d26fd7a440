// Events as they become known: server-sent events, followed while a component is shown.
import { useEffect, useEffectEvent } from "react";

import { apiUrl, type Params } from "./client";
import { follow, type Handlers } from "./stream";

/** Follows a stream while the component is shown; `path` null: does not. Handlers may change without a reconnect. */
export function useLive(path: string | null, params: Params, handlers: Handlers): void {
  const newest = useEffectEvent(() => handlers);
  const url = path === null ? null : apiUrl(path, params);
  useEffect(() => (url === null ? undefined : follow(url, () => newest())), [url]);
}
