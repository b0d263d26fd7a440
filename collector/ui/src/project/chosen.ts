// The project that the operator chose: a cookie, since downloads and streams cannot send headers.

const COOKIE = "playhead_project";

/** Shows another project from now on: everything is asked again. */
export function choose(name: string): void {
  document.cookie = `${COOKIE}=${encodeURIComponent(name)}; path=/; samesite=strict`;
  location.reload();
}
