"""api → [capture] → refs → journal → export.  One file per instrumented library, all of one shape:

`SUPPORTS` (the requirement that says which versions), `patch()`, `unpatch()`; those of models also `read_request()` and
`read_response()`.
"""
