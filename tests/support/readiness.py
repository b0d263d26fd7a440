"""Waits until a collector is ready: on a busy machine, Postgres may not answer in time, and /readyz is 503."""

import time

import httpx

PATIENCE_SECONDS = 60.0


def until_ready(url: str) -> httpx.Response:
    """The answer of /readyz, once it is another one than 503."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (answer := httpx.get(f"{url}/readyz", timeout=PATIENCE_SECONDS, trust_env=False)).status_code == 503:
        assert time.monotonic() < until, answer.text
    return answer
