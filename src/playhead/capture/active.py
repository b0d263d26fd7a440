"""`playhead.doctor()`: tells which libraries are instrumented in this process, by whom, and which calls several
instrumentations see."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from playhead.capture.patching import Instrumentation, attributes_of, wrappers_of
from playhead.capture.preference import INSTRUMENTORS, OURS, is_active, is_recorded_by_other_instrumentation
from playhead.capture.registry import LIBRARIES, brought_captures
from playhead.model.instrumentations import FAMILIES, family_of

_MOST_LAYERS = 32  # a wrapper that wraps itself must not be followed for ever


@dataclass(frozen=True, slots=True)
class InstrumentedLibrary:
    """A library that this process has imported, or that Playhead instruments when it is imported."""

    library: str
    """Its import name."""
    version: str | None
    """None: its distribution is not known."""
    by: tuple[str, ...]
    """Families of the instrumentations that are on: `playhead`, `opentelemetry`, `openinference`, `openllmetry`."""
    counted_by: str | None
    """The instrumentation whose record of a call counts (see `PLAYHEAD_PREFER`); None: none is on."""
    wrapped: Mapping[str, tuple[str, ...]]
    """Function with several wrappers → their owners, outermost first: a family, or the module of the wrapper."""

    @property
    def is_seen_twice(self) -> bool:
        """Whether more than one instrumentation sees the same calls."""
        return len(self.by) > 1 or bool(self.wrapped)

    def __str__(self) -> str:
        text = f"{self.library} {self.version or '?'}: {', '.join(self.by) or 'not instrumented'}"
        if self.is_seen_twice:
            text += f"; seen twice, counted once: by {self.counted_by}"
        return "\n".join([text, *(f"  {name}: {' > '.join(who)}" for name, who in self.wrapped.items())])


def doctor() -> tuple[InstrumentedLibrary, ...]:
    """Returns what is instrumented in this process: a value for each library that is imported here.

    Call it when the program has set up its instrumentations and has imported its libraries; `str()` of a value is for
    people.  Imports no library, and changes nothing.
    """
    paths = {**LIBRARIES, **{name: entry.module for name, entry in brought_captures().items()}}
    return tuple(_described(name, path) for name, path in paths.items() if name in sys.modules)


def _described(library: str, path: str) -> InstrumentedLibrary:
    module, top = sys.modules.get(path), library.partition(".")[0]
    ours = _instrumentation_in(module)
    others = tuple(family for family, modules in INSTRUMENTORS.get(top, {}).items() if any(map(is_active, modules)))
    is_on = ours is not None and ours.is_on
    by = ((OURS,) if is_on else ()) + others
    wrapped = dict(_wrapped_more_than_once(ours, f"{top}.")) if ours is not None else {}
    return InstrumentedLibrary(library, _version(module), by, _counted_by(top, by), wrapped)


def _counted_by(library: str, by: tuple[str, ...]) -> str | None:
    """Returns the first family of `by` in the collector's order, without ours if it leaves the library to others."""
    if OURS in by and is_recorded_by_other_instrumentation(library):
        by = tuple(family for family in by if family != OURS)
    return min(by, key=FAMILIES.index, default=None)


def _instrumentation_in(module: ModuleType | None) -> Instrumentation | None:
    values = attributes_of(module).values() if module is not None else ()
    return next((value for value in values if isinstance(value, Instrumentation)), None)


def _wrapped_more_than_once(ours: Instrumentation, librarys_own: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, function in ours.functions():
        modules = [module for module in wrappers_of(function, _MOST_LAYERS) if not module.startswith(librarys_own)]
        who = tuple(map(_known_as, modules))
        if len(who) > 1:
            yield name, who


def _known_as(module: str) -> str:
    return OURS if module.startswith("playhead.") else family_of(module) or module


def _version(module: ModuleType | None) -> str | None:
    supports: object = getattr(module, "SUPPORTS", None)
    try:
        return version(supports.split()[0]) if isinstance(supports, str) else None
    except PackageNotFoundError:
        return None
