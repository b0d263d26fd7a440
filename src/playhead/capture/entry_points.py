"""Captures that other packages bring: entry points of the group `playhead.captures` (see docs/extending.md).

The entry point has the library's import name, and names a module with `SUPPORTS`, `patch()` and `unpatch()`. It is
imported when the program imports the library.
"""

import functools
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from playhead.kernel.guard import guarded, warn_once

GROUP = "playhead.captures"


@functools.cache
def captures_by_library(own: frozenset[str]) -> MappingProxyType[str, EntryPoint]:
    """Returns the entry points by the import name of the library that they instrument; read once per process.

    `own`: libraries that Playhead instruments itself. A capture of one of them is left out with a warning; so is a
    second one of the same library, in the order of the packages' names.
    """
    found: dict[str, EntryPoint] = {}
    with guarded("read which packages bring a capture"):
        for entry in sorted(entry_points(group=GROUP), key=lambda each: (_package(each), each.value)):
            reason = _reason_to_leave_out(entry, own, found)
            if reason is None:
                found[entry.name] = entry
            else:
                warn_once(f"capture {_package(entry)} {entry.name}", f"the capture of {reason}")
    return MappingProxyType(found)


def _reason_to_leave_out(entry: EntryPoint, own: Collection[str], found: dict[str, EntryPoint]) -> str | None:
    described = f"{entry.name!r} that {_package(entry)} brings is not used"
    if not all(part.isidentifier() for part in entry.name.split(".")):
        return f"{described}: its entry point needs the import name of a library as its name"
    if entry.name in own:
        return f"{described}: Playhead records that library itself"
    other = found.get(entry.name)
    if other is not None and other.value != entry.value:  # the same one: of a package that is found in two folders
        return f"{described}: {_package(other)} brings one, too"
    return None


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "a package"
