"""Waits until a collector is ready: /readyz is 503 while Postgres does not answer, which on a busy machine may be so for
a moment."""

import time

import httpx

PATIENCE_SECONDS = 60.0


def until_ready(url: str) -> httpx.Response:
    """The answer of /readyz, once it is another one than 503."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (answer := httpx.get(f"{url}/readyz", timeout=PATIENCE_SECONDS, trust_env=False)).status_code == 503:
        assert time.monotonic() < until, answer.text
    return answer
