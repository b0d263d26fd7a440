"""api → [capture] → refs → journal → export. Instrumentations: one file or folder per library, all of one shape.

Each has `SUPPORTS` (a requirement with the supported versions), `patch()` and `unpatch()`; those of models also have
`read_request()` and `read_response()`. `patching` wraps and unwraps, `registry` lists the libraries, `model_call`
and `streams` record model calls, `frameworks` records tools and agents.
"""
