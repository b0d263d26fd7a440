"""Replaces functions of a library by wrappers that record their calls, and puts the originals back.

Each capture module lists what it wraps; this module applies and undoes that, also for modules imported later.
"""

import functools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.capture.preference import is_recorded_by_other_instrumentation
from playhead.kernel.guard import guarded
from playhead.model.json_value import value_at

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Called instead of a function, with the function, its object (None: it has none), args and kwargs."""


class Patch(Protocol):
    """One change of one module of a library."""

    @property
    def module(self) -> str:
        """The name under which the module is imported."""
        ...

    def apply(self, module: ModuleType, is_on: Callable[[], bool]) -> None:
        """Makes the change; a second time changes nothing.  May raise: the library may be of another version.

        While `is_on` returns False, the module has to behave as if it were unchanged.
        """
        ...

    def undo(self, module: ModuleType) -> None:
        """Undoes the change, unless another library has wrapped the wrapper."""
        ...


class _RecordingWrapper(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """Class of our wrappers, which tells them from wrappers of other libraries."""


@dataclass(frozen=True, slots=True)
class Wrap:
    """Patch of a function, or of a method of a class: calls go through `wrapper`."""

    module: str
    path: str
    """"function", or "Class.method"; a method that the class inherits is not wrapped."""
    wrapper: Wrapper
    is_optional: bool = False
    """Whether supported versions of the library may lack it."""

    def apply(self, module: ModuleType, is_on: Callable[[], bool]) -> None:
        """Wraps the function.  Raises AttributeError if it is missing and not optional."""
        owner, name, function = self._find(module)
        if function is not None and not _is_wrapped(function):
            setattr(owner, name, _RecordingWrapper(function, self.wrapper, is_on))
        elif function is None and not self.is_optional:
            raise AttributeError(f"{self.module} has no {self.path} in this version")

    def undo(self, module: ModuleType) -> None:
        """Restores the original function.  If another library has wrapped ours, ours stays, and only passes calls
        through."""
        owner, name, function = self._find(module)
        if type(function) is _RecordingWrapper:
            setattr(owner, name, _original(function))

    def found(self, module: ModuleType) -> object:
        """Returns the function that the module has now; None if there is none."""
        return self._find(module)[2]

    def _find(self, module: ModuleType) -> tuple[object, str, Any]:
        """Returns the module or class, the name in it, and the function there (None: there is none)."""
        class_name, _, name = self.path.rpartition(".")
        owner: object = getattr(module, class_name, None) if class_name else module
        return owner, name, None if owner is None else vars(owner).get(name)


@dataclass(frozen=True, slots=True)
class WrapSubclasses:
    """Patch of methods in all subclasses of a class, present and future ones, each where a subclass defines it.

    For frameworks that call methods of users and other libraries directly, with no method of their own around them.
    """

    module: str
    base: str
    """The class: its own methods are not wrapped."""
    wrappers: Mapping[str, Wrapper]
    """Method name → wrapper."""

    def apply(self, module: ModuleType, is_on: Callable[[], bool]) -> None:
        """Wraps the methods; those of later subclasses when these are defined.  Raises AttributeError if `base` is
        missing."""
        base: type = getattr(module, self.base)
        hook = _own(base, _HOOK)
        if type(hook) is not _SubclassHook:
            setattr(base, _HOOK, _SubclassHook(base, hook, lambda kind: self._wrap(kind, is_on)))
        for kind in _subclasses(base):
            self._wrap(kind, is_on)

    def undo(self, module: ModuleType) -> None:
        """Restores the original methods.  If another library has wrapped ours, ours stays, and only passes calls
        through."""
        base: type | None = getattr(module, self.base, None)
        if base is None:
            return
        hook = _own(base, _HOOK)
        if type(hook) is _SubclassHook:
            hook.remove()
        for kind in _subclasses(base):
            for name in self.wrappers:
                method = _own(kind, name)
                if type(method) is _RecordingWrapper:
                    setattr(kind, name, _original(method))

    def _wrap(self, kind: type, is_on: Callable[[], bool]) -> None:
        for name, wrapper in self.wrappers.items():
            method = _own(kind, name)
            is_abstract = getattr(method, "__isabstractmethod__", False)
            if callable(method) and not is_abstract and not _is_wrapped(method):
                setattr(kind, name, _RecordingWrapper(method, wrapper, is_on))


_HOOK = "__init_subclass__"


class _SubclassHook:
    """Descriptor in the place of a class's `__init_subclass__`, which is called with each new subclass."""

    def __init__(self, owner: type, own: Any, wrap: Callable[[type], None]):
        """`own`: the class's own `__init_subclass__`; None: it has none."""
        self._owner = owner
        self._own = own
        self._wrap = wrap

    def __get__(self, instance: object, kind: type | None = None) -> Callable[..., None]:
        return functools.partial(self._called, kind if instance is None else type(instance))

    def _called(self, kind: Any, **options: object) -> None:
        if self._own is not None:
            self._own.__get__(None, kind)(**options)
        else:
            super(self._owner, kind).__init_subclass__(**options)
        with guarded("instrument %s", getattr(kind, "__qualname__", "a class")):  # the class is the user's
            self._wrap(kind)

    def remove(self) -> None:
        """Restores the class's own `__init_subclass__`."""
        if self._own is None:
            delattr(self._owner, _HOOK)
        else:
            setattr(self._owner, _HOOK, self._own)


def attributes_of(thing: object) -> Mapping[str, object]:
    """Returns the attributes that a module, a class or an object has itself, by name."""
    return vars(thing)


def _own(kind: type, name: str) -> object:
    """Returns this entry of the class's own `__dict__`; None: it has none."""
    return vars(kind).get(name)


def _subclasses(base: type) -> Iterator[type]:
    """Yields all classes below this one, each once."""
    seen: set[type] = set()
    waiting = base.__subclasses__()
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            yield kind
            waiting += kind.__subclasses__()


def _original(wrapper: object) -> object:
    return getattr(wrapper, "__wrapped__", None)


def _is_wrapped(function: object) -> bool:
    while function is not None:
        # The second is a bound wrapper: `class B: method = A.method`, where the method of A is wrapped.
        if type(function) is _RecordingWrapper or type(getattr(function, "_self_parent", None)) is _RecordingWrapper:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def wrappers_of(function: object, most: int) -> Iterator[str]:
    """Yields the modules of the wrappers around a function (ours and others'), outermost first, at most `most`."""
    for _ in range(most):
        beneath = getattr(function, "__wrapped__", None)
        if beneath is None:
            return
        wrapper = getattr(function, "_self_wrapper", None)
        if wrapper is None:  # a plain function made with `functools.wraps`, which copies the wrapped one's `__module__`
            name = value_at(getattr(function, "__globals__", None), "__name__")
        else:
            name = getattr(wrapper, "__module__", None) or type(wrapper).__module__
        yield str(name)
        function = beneath


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

    def functions(self) -> Iterator[tuple[str, object]]:
        """Yields name and value of each wrapped function of the imported modules."""
        for name, patches in self._patches.items():
            module = sys.modules.get(name)
            for patch in patches:
                if module is not None and isinstance(patch, Wrap) and (function := patch.found(module)) is not None:
                    yield f"{name}.{patch.path}", function

    def patch(self) -> None:
        """Patches the imported modules now, and the others when they are imported.  A second time changes nothing."""
        self.is_on = True
        for name in self._patches:
            if not self._is_waiting:
                wrapt.register_post_import_hook(functools.partial(self._on_import, name), name)
            elif name in sys.modules:
                self._on_import(name, sys.modules[name])
        self._is_waiting = True

    def unpatch(self) -> None:
        """Restores the library.  A wrapper of ours beneath another library's stays, and passes calls through."""
        self.is_on = False
        for name, patches in self._patches.items():
            if (module := sys.modules.get(name)) is not None:
                for patch in patches:
                    patch.undo(module)

    def _records(self, library: str) -> bool:
        return self.is_on and not is_recorded_by_other_instrumentation(library)

    def _on_import(self, name: str, module: ModuleType) -> None:
        for patch in self._patches[name] if self.is_on else ():
            with guarded("instrument %s", name):  # another version, or another library of that name
                patch.apply(module, functools.partial(self._records, name.partition(".")[0]))


def instrumentor(
    name: str, supports: str, patch: Callable[[], None], unpatch: Callable[[], None]
) -> type[BaseInstrumentor]:
    """Returns the instrumentor of a library, a class of this name, for `opentelemetry-instrument` and for programs that
    use OpenTelemetry's instrumentors.  `supports`: the supported versions, as pip writes them."""

    class Instrumentor(BaseInstrumentor):
        def instrumentation_dependencies(self) -> Collection[str]:
            return (supports,)

        def _instrument(self, **kwargs: object) -> None:
            patch()

        def _uninstrument(self, **kwargs: object) -> None:
            unpatch()

    Instrumentor.__name__ = Instrumentor.__qualname__ = name
    return Instrumentor
