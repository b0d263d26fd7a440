"""Exceptions <-> tagged JSON, so that `except MyError as e: e.code` works on a replayed error. See `faithful.py`.

An exception is rebuilt without its `__init__`: from its args, its attributes, and the values that built-in exceptions
hold outside of both (`OSError.errno`). Tracebacks are not kept. If lenient, parts that cannot be kept are left out and
listed; an HTTP library's request and response are then kept in outline, without the headers and bodies that may hold
secrets.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, cast, get_args

from playhead.errors import CannotRestore, NotFaithful
from playhead.kernel.guard import guarded
from playhead.model.objects.error_texts import argument_text, error_text
from playhead.refs.named_classes import ClassGone, builtin_base, class_named, is_built_in, name_of
from playhead.refs.object_codecs import set_state, state_of
from playhead.refs.plain import parts_for_json
from playhead.refs.value_codecs import Inner, Tree, tagged, text_tree

_ROOTS = (BaseException, Exception, object)
_MAX_BODY = 64 * 1024
# Headers of a response with secrets, or about the body's form on the wire, which is not kept.
_NOT_KEPT = frozenset({"set-cookie", "content-encoding", "content-length", "transfer-encoding"})


class ReplayedError(Exception):
    """Stands for a recorded exception that cannot be rebuilt: its class is gone, or was local to a function.

    `original` names the class; the recorded attributes are attributes of this one.
    """

    original: str = ""


class _LeftOut:
    """Stands for an argument that could not be kept, and has its text as `repr`."""

    def __init__(self, text: str):
        self._text = text

    def __repr__(self) -> str:
        return self._text


def error_tree(raised: BaseException, inner: Inner, *, chained: bool = True) -> Tree:
    """Returns the tree of an exception. Unless lenient, raises NotFaithful if a part of it cannot be kept."""
    kind = type(raised)
    if _is_validation_error(kind):
        return _validation_error(raised, inner)

    tree = error_outline(raised)
    if not inner.lenient:
        name_of(kind)

    def keep(name: str, value: object, add: Callable[[Any], None]) -> bool:
        try:
            _refuse_name(name)
            add(inner(value))
        except NotFaithful as reason:
            if not inner.lenient:
                raise NotFaithful(f"{name} of a {kind.__qualname__}: {reason}") from None
            tree["left_out"].append(name)
            return False
        return True

    for index, arg in enumerate(raised.args):
        if not keep(f"args[{index}]", arg, tree["args"].append):
            text = text_tree(_only_text(arg)) if len(raised.args) == 1 else argument_text(arg)
            tree["args"].append(tagged("left out", text=text))
    for name, value in (state_of(raised) | _native_state(raised)).items():
        keep(name, value, partial(tree["state"].__setitem__, name))
    if chained:
        _add_chain(tree, raised, inner)
    return tree


def _refuse_name(name: str) -> None:
    if len(parts_for_json(name)) > 1:
        raise NotFaithful("JSON would change its name")


def error_outline(raised: BaseException, *left_out: str) -> Tree:
    """Returns the tree of an exception's class and text, with the names of the parts that were left out."""
    name = f"{type(raised).__module__}:{type(raised).__qualname__}"
    return tagged(
        "error", **{"class": name}, args=[], message=text_tree(error_text(raised)), state={}, left_out=[*left_out]
    )


def _add_chain(tree: Tree, raised: BaseException, inner: Inner) -> None:
    cause, context = raised.__cause__, raised.__context__
    if cause is not None:
        tree["cause"] = error_tree(cause, inner, chained=False)
    if context is not None:  # the same exception, if it was raised `from` the one being handled
        tree["context"] = "cause" if context is cause else error_tree(context, inner, chained=False)
    tree["suppress"] = raised.__suppress_context__


def error_of(tree: Tree, inner: Inner) -> BaseException:
    """Rebuilds the exception; returns a `ReplayedError` if its class is gone or cannot be made."""
    args = [inner(arg) for arg in tree["args"]]
    state = {name: inner(item) for name, item in tree["state"].items()}
    kind = _error_class(tree)
    try:
        raised = _rebuilt(kind, {**tree, "message": inner(tree["message"])}, args, state)
    except Exception:  # noqa: BLE001 - a metaclass, a changed base: whatever stands in the way
        raised = ReplayedError(f"{tree['class']}: {inner(tree['message'])}")
        raised.original = str(tree["class"])
        vars(raised).update((name, item) for name, item in state.items() if name not in {"args", "original"})
    if "cause" in tree:
        raised.__cause__ = inner(tree["cause"])
    if "context" in tree:
        raised.__context__ = raised.__cause__ if tree["context"] == "cause" else inner(tree["context"])
    raised.__suppress_context__ = bool(tree.get("suppress"))
    return raised


def _error_class(tree: Tree) -> Any:
    """The exception's class; None if it is gone. Raises CannotRestore if it may be in a module that is not imported: an
    `except` for the class would not catch another class in its place."""
    try:
        return class_named(tree["class"])
    except ClassGone:
        return None


def _rebuilt(kind: object, tree: Tree, args: list[Any], state: dict[str, Any]) -> BaseException:
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        raise CannotRestore(f"{tree['class']} is no exception")
    raised = _with_state(kind, args, state)
    if error_text(raised) != tree["message"]:  # its text needs what was left out
        raised = _with_state(_kind_with_text(kind, tree["message"]), args, state)
    return raised


def _with_state(kind: Any, args: list[Any], state: dict[str, Any]) -> BaseException:
    raised = _new_instance(kind, args)
    native = _native_members(kind)
    set_state(raised, {name: item for name, item in state.items() if name not in native})
    for name in native.keys() & state.keys():
        try:
            native[name].__set__(raised, state[name])
        except (AttributeError, TypeError):  # read-only: set from the args already
            continue
    return raised


def _kind_with_text(kind: type, text: str) -> type:
    """Returns a subclass of an exception's class, with the same name, whose instances have this text."""
    return type(kind.__name__, (kind,), {**_same_name(kind), "__str__": _str_returning(text)})


def _new_instance(kind: Any, args: list[Any]) -> BaseException:
    base = builtin_base(kind)
    if issubclass(kind, BaseExceptionGroup):
        return cast(BaseException, base.__new__(kind, *args))
    # Without args: given an errno, OSError would make another class than the recorded one.
    raised = cast(BaseException, base.__new__(kind))
    raised.args = tuple(args)
    return raised


def _str_returning(text: str) -> Callable[[Any], str]:
    return lambda _: text


def _same_name(kind: type) -> dict[str, Any]:
    return {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}


def _native_members(kind: type) -> dict[str, Any]:
    """Members in which built-in exceptions hold values outside of `args` and `__dict__`."""
    return {
        name: member
        for base in kind.__mro__
        if base not in _ROOTS and is_built_in(base)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType | GetSetDescriptorType) and not name.startswith("__")
    }


def _native_state(raised: BaseException) -> dict[str, Any]:
    state: dict[str, Any] = {}
    for name, member in _native_members(type(raised)).items():
        try:
            value = member.__get__(raised)
        except AttributeError:  # never set
            continue
        if value is not None:
            state[name] = value
    return state


def _only_text(arg: object) -> str:
    """The text of an exception that has only this argument."""
    return error_text(arg) if isinstance(arg, BaseException) else error_text(Exception(arg))


# --- pydantic's ValidationError, which only pydantic can make --------------------------------------------------------


def _is_validation_error(kind: type) -> bool:
    return kind.__name__ == "ValidationError" and kind.__module__.startswith("pydantic_core")


def _validation_error(raised: Any, inner: Inner) -> Tree:
    errors: list[Any] = []
    for line in raised.errors(include_url=False):
        try:
            input_tree = inner(line["input"])
        except NotFaithful:
            if not inner.lenient:
                raise
            input_tree = tagged("left out", text=argument_text(line["input"]))
        about = {"type": line["type"], "msg": line["msg"], "loc": list(line["loc"]), "ctx": inner(line.get("ctx"))}
        errors.append({**about, "input": input_tree})
    return tagged("validation error", title=raised.title, errors=errors)


def _to_validation_error(tree: Tree, inner: Inner) -> BaseException:
    from pydantic_core import PydanticCustomError, ValidationError, core_schema  # noqa: PLC0415

    error_types = frozenset(get_args(core_schema.ErrorType))
    lines: list[Any] = []
    for line in tree["errors"]:
        context = inner(line["ctx"])
        kind = line["type"]
        if kind not in error_types:
            kind = PydanticCustomError(kind, line["msg"].replace("{", "{{"), context)
        lines.append({"type": kind, "loc": tuple(line["loc"]), "input": inner(line["input"])})
        if context is not None and isinstance(kind, str):
            lines[-1]["ctx"] = context
    return ValidationError.from_exception_data(tree["title"], lines)


# --- an HTTP library's request and response, in outline --------------------------------------------------------------


def http_tree(value: Any) -> Tree | None:
    """Returns the outline of an httpx request or response; None for any other value."""
    kind = cast(Any, type(value))
    library = kind.__module__.partition(".")[0]
    if library not in {"httpx", "httpx2"} or kind.__name__ not in {"Request", "Response"}:
        return None
    if kind.__name__ == "Request":
        return tagged("http request", library=library, method=value.method, url=str(value.url))
    body = ""
    with guarded("read the body of a response", log=False):  # a stream may not be read yet
        body = value.text if len(value.content) <= _MAX_BODY else ""
    headers = [[name, text] for name, text in value.headers.multi_items() if name.lower() not in _NOT_KEPT]
    try:
        request = http_tree(value.request)
    except RuntimeError:  # it was made by hand, without a request
        request = None
    return tagged(
        "http response", library=library, status=value.status_code, headers=headers, body=body, request=request
    )


def _library(tree: Tree) -> Any:
    library = sys.modules.get(tree["library"]) if tree["library"] in {"httpx", "httpx2"} else None
    if library is None:
        raise CannotRestore(f"the library {tree['library']} of a recorded response is not loaded")
    return library


def _to_request(tree: Tree, _: Inner) -> Any:
    return _library(tree).Request(tree["method"], tree["url"])


def _to_response(tree: Tree, inner: Inner) -> Any:
    headers = [(name, text) for name, text in tree["headers"]]
    request = None if tree["request"] is None else inner(tree["request"])
    body = tree["body"].encode()
    return _library(tree).Response(tree["status"], headers=headers, content=body, request=request)


ERROR_DECODERS: dict[str, Callable[[Tree, Inner], Any]] = {
    "error": error_of,
    "left out": lambda tree, inner: _LeftOut(str(inner(tree["text"]))),
    "validation error": _to_validation_error,
    "http request": _to_request,
    "http response": _to_response,
}
