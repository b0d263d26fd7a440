"""Pages for browsers: the built web UI, and the API's description at GET /api/v1/docs.

The UI is served from memory: one page for every address, and assets whose names change with their content. The page
holds no data: everything shown comes from the API, with the browser's session. So it needs no key.

The API's description loads only `openapi.json`, so it works offline.
"""

import gzip
import html
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

# --- the web UI ------------------------------------------------------------------------------------------------------

ASSETS: Final = "/assets/"
# Paths of the UI's pages. All other unknown paths stay a 404 in JSON, since most clients are programs.
_UI_PATHS: Final = (
    "/", "/runs", "/compare", "/calls", "/content", "/search", "/across", "/approvals", "/conversations", "/project",
    "/storage",
)  # fmt: skip
_BUILT: Final = Path(__file__).parents[2] / "ui"
# No inline scripts, nothing from other hosts, never in a frame. Scripts set the positions of rows and bars through the
# object model, which this policy does not restrict.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_PAGE_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
_ASSET_HEADERS: Final = {"x-content-type-options": "nosniff", "cache-control": "public, max-age=31536000, immutable"}
_NOT_BUILT: Final = (
    "The web UI is not built in this checkout: run `make ui`, and start the collector again. "
    "The API is at /api/v1/docs.\n"
)
# The path prefix under which a proxy serves us. It comes from a header, so only plain segments are accepted.
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]{1,64}){0,8}/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the build, plain and gzipped."""

    data: bytes
    zipped: bytes
    media_type: str


def is_ui_path(path: str) -> bool:
    """Whether the UI answers at this path. These paths need no key."""
    return path in _UI_PATHS or path.startswith((ASSETS, *(f"{page}/" for page in _UI_PATHS[1:])))


class UiFiles:
    """The files of a built UI. Empty when the UI was not built."""

    def __init__(self, folder: Path = _BUILT) -> None:
        page = folder / "index.html"
        self._page = page.read_text() if page.is_file() else None
        self._assets = {path.name: _asset(path) for path in sorted(folder.glob("assets/*")) if path.is_file()}

    @property
    def is_built(self) -> bool:
        """Whether there is a UI to serve."""
        return self._page is not None

    async def page(self, request: Request) -> Response:
        """Returns the page. It finds its assets and the API relative to `<base>`, which has the path prefix."""
        if self._page is None:
            return PlainTextResponse(_NOT_BUILT, 404)
        base = f'<base href="{html.escape(prefix(request.headers))}/" />'
        return Response(self._page.replace("<head>", f"<head>{base}", 1), headers=_PAGE_HEADERS, media_type="text/html")

    async def asset(self, request: Request, name: str) -> Response:
        """Returns a file of the build. Its name contains a digest of its content, so caches may keep it for ever."""
        file = self._assets.get(name)
        if file is None:
            return PlainTextResponse("There is no such file: load the page again.\n", 404)
        headers = {**_ASSET_HEADERS, "vary": "accept-encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(file.data, headers=headers, media_type=file.media_type)
        return Response(file.zipped, headers={**headers, "content-encoding": "gzip"}, media_type=file.media_type)

    def router(self) -> APIRouter:
        """Returns the routes, which are not in the API's description."""
        routes = APIRouter(include_in_schema=False)
        for path in _UI_PATHS:
            routes.get(path)(self.page)
            if path != "/":
                routes.get(f"{path}/{{rest:path}}")(self.page)
        routes.get(f"{ASSETS}{{name}}")(self.asset)
        return routes


def prefix(headers: Mapping[str, str]) -> str:
    """Returns the path prefix from a proxy's X-Forwarded-Prefix, without a slash at its end; empty if it is missing or
    malformed."""
    header = headers.get("x-forwarded-prefix", "")
    return header.rstrip("/") if _PREFIX.fullmatch(header) and "/." not in header else ""


def _asset(path: Path) -> Asset:
    data = path.read_bytes()
    return Asset(data, gzip.compress(data, mtime=0), mimetypes.guess_type(path.name)[0] or "application/octet-stream")


# --- the API's description -------------------------------------------------------------------------------------------

_DOCS_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Playhead API</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, summary { font-family: ui-monospace, monospace } summary { cursor: pointer; padding: .3rem 0 }
.method { display: inline-block; width: 4.5rem; font-weight: bold }
td { padding: .1rem 1rem .1rem 0; vertical-align: top }
.note { opacity: .7 } p { white-space: pre-line }
</style>
<h1>Playhead API</h1><p class="note">From <a href="openapi.json">openapi.json</a>, for tools that read it.</p>
<main id="all">Loading the description ...</main>
<script>
const add = (to, tag, text, kind) => {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  return to.appendChild(made);
};
const typed = (of) => of ? (of.$ref ? of.$ref.split("/").pop()
  : of.enum ? of.enum.join(" | ")
  : of.anyOf ? of.anyOf.map(typed).join(" | ")
  : of.type === "array" ? "list of " + typed(of.items) : of.type || "") : "";
fetch("openapi.json").then((answer) => answer.json()).then((described) => {
  const all = document.getElementById("all");
  all.textContent = "";
  const groups = {};
  for (const [path, methods] of Object.entries(described.paths))
    for (const [method, operation] of Object.entries(methods))
      (groups[(operation.tags || ["other"])[0]] ||= []).push([method.toUpperCase(), path, operation]);
  for (const [group, operations] of Object.entries(groups)) {
    add(all, "h2", group);
    for (const [method, path, operation] of operations) {
      const one = add(all, "details"), head = add(one, "summary");
      add(head, "span", method, "method");
      add(head, "span", path);
      add(one, "p", operation.description || operation.summary);
      const table = add(one, "table");
      for (const parameter of operation.parameters || []) {
        const row = add(table, "tr");
        add(add(row, "td"), "code", parameter.name + (parameter.required ? " *" : ""));
        add(row, "td", parameter.in);
        add(row, "td", typed(parameter.schema), "note");
        add(row, "td", parameter.description || "");
      }
      for (const [media, body] of Object.entries((operation.requestBody || {}).content || {}))
        add(one, "p", "Body: " + media + " " + typed(body.schema));
      for (const [status, response] of Object.entries(operation.responses || {})) {
        const kinds = Object.values(response.content || {}).map((each) => typed(each.schema)).filter(Boolean);
        add(one, "div", status + "  " + response.description + (kinds.length ? "  (" + kinds.join(", ") + ")" : ""));
      }
    }
  }
}).catch((error) => { document.getElementById("all").textContent = "openapi.json cannot be read: " + error; });
</script></html>
"""
# The page inserts all texts as text, never as HTML, and loads nothing from other hosts.
_DOCS_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'"
)


def docs_router(prefix: str) -> APIRouter:
    """The page's route."""
    routes = APIRouter(prefix=prefix)

    @routes.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(_DOCS_PAGE, headers={"Content-Security-Policy": _DOCS_POLICY})

    return routes


# --- all pages -------------------------------------------------------------------------------------------------------


def router(prefix: str) -> APIRouter:
    """Returns the routes of the pages: the API's description below `prefix`, and the web UI. The routes of
    the browser's session belong to the API (`handlers.session`)."""
    pages = APIRouter()
    pages.include_router(docs_router(prefix))
    pages.include_router(UiFiles().router())
    return pages
