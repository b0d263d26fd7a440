"""Names of this machine. A proxy for the Internet does not reach it, so requests to it ignore the proxy settings."""

from typing import Final
from urllib.parse import urlsplit

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(url: str) -> bool:
    """Returns whether the URL's host is this machine."""
    return urlsplit(url).hostname in LOOPBACK_HOSTS
