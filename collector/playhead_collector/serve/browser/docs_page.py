"""GET /api/v1/docs: the API's description as a page. It loads only `openapi.json`, so it works offline."""

from typing import Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

_PAGE: Final = """<!doctype html>
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
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'none'"
)


def router(prefix: str) -> APIRouter:
    """The page's route."""
    routes = APIRouter(prefix=prefix)

    @routes.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})

    return routes
