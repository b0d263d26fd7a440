"""The versions that a file of constraints pins, and whether this environment is the one of that file."""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)


def pinned(constraints: str) -> dict[str, str]:
    """Version by name of package. `constraints`: the file's name, in the checkout."""
    return dict(PIN.findall((ROOT / constraints).read_text(encoding="utf-8")))


def is_environment_of(constraints: str, packages: tuple[str, ...]) -> bool:
    """Whether these packages are installed here as they are pinned."""
    pins = pinned(constraints)
    try:
        return all(version(name) == pins[name] for name in packages)
    except PackageNotFoundError:
        return False
