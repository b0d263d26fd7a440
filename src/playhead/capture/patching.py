"""Replaces functions of a library by wrappers that record their calls, and puts the originals back.

Each capture module lists what it wraps; how that is done, in which order of imports, and undone, is here.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import wrapt

from playhead.api.guard import swallowed
from playhead.model.objects.interrupts import let_through

Wrapper = Callable[[Any, Any, Any, Any], Any]
"""Called instead of a function, with the function, its object (None: it has none), args and kwargs."""


class Patch(Protocol):
    """One change of one module of a library."""

    @property
    def module(self) -> str:
        """The name under which the module is imported."""
        ...

    def apply(self, module: Any, is_on: Callable[[], bool]) -> None:
        """Makes the change; a second time changes nothing.  May raise: the library may be of another version.

        While `is_on` returns False, the module has to behave as if it were unchanged.
        """
        ...

    def undo(self, module: Any) -> None:
        """Takes the change back, where nobody else has put something on top of it."""
        ...


class _RecordingWrapper(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """A wrapper of ours, to be told from those of others."""


@dataclass(frozen=True, slots=True)
class Wrap:
    """A function, or a method of a class, that is called through `wrapper`."""

    module: str
    path: str
    """"function", or "Class.method"; a method that the class inherits is not wrapped."""
    wrapper: Wrapper
    is_optional: bool = False
    """Whether supported versions of the library may lack it."""

    def apply(self, module: Any, is_on: Callable[[], bool]) -> None:
        """Wraps it.  Raises AttributeError where it is missing, and not optional."""
        owner, name, found = self._find(module)
        if found is not None and not _is_wrapped(found):
            setattr(owner, name, _RecordingWrapper(found, self.wrapper, is_on))
        elif found is None and not self.is_optional:
            raise AttributeError(f"{self.module} has no {self.path} in this version")

    def undo(self, module: Any) -> None:
        """Puts the original back; beneath another's wrapper, ours stays and does nothing."""
        owner, name, found = self._find(module)
        if type(found) is _RecordingWrapper:
            setattr(owner, name, cast(Any, found).__wrapped__)

    def _find(self, module: Any) -> tuple[Any, str, Any]:
        """Module or class, name in it, and what is there; None: nothing is."""
        class_name, _, name = self.path.rpartition(".")
        owner = getattr(module, class_name, None) if class_name else module
        own = {} if owner is None else cast("dict[str, Any]", vars(owner))
        return owner, name, own.get(name)


def _is_wrapped(function: Any) -> bool:
    while function is not None:
        if type(function) is _RecordingWrapper:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


class Instrumentation:
    """Switches all patches of one library on and off.  A module is patched when the program imports it."""

    def __init__(self, patches: Iterable[Patch]):
        self.is_on = False
        self._patches: dict[str, list[Patch]] = {}
        for patch in patches:
            self._patches.setdefault(patch.module, []).append(patch)
        self._is_waiting = False

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that it patches."""
        return tuple(self._patches)

    def patch(self) -> None:
        """Patches what is imported, and what will be.  A second time changes nothing."""
        self.is_on = True
        for name in self._patches:
            if not self._is_waiting:
                wrapt.register_post_import_hook(functools.partial(self._on_import, name), name)
            elif name in sys.modules:
                self._on_import(name, sys.modules[name])
        self._is_waiting = True

    def unpatch(self) -> None:
        """Leaves the library as it was.  Where our wrapper is beneath another's, it passes calls through."""
        self.is_on = False
        for name, patches in self._patches.items():
            if (module := sys.modules.get(name)) is not None:
                for patch in patches:
                    patch.undo(module)

    def _on_import(self, name: str, module: Any) -> None:
        for patch in self._patches[name] if self.is_on else ():
            try:
                patch.apply(module, lambda: self.is_on)
            except BaseException as error:  # noqa: BLE001 - the guard: another version, or another library of that name
                let_through(error)
                swallowed(f"instrument {name}", error)
