"""Requests of Starlette and FastAPI: the calls of one request, and of its background tasks, are one run.

It is named after the route: `POST /chats/{chat}`.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, cast

from playhead.calls.borders import WorkBorder
from playhead.capture.patching import Instrumentation, Wrap

SUPPORTS = "starlette >= 0.40"
_MODULE = "starlette.applications"

_Scope = MutableMapping[str, Any]


def _call(wrapped: Callable[..., Awaitable[None]], instance: Any, args: Any, kwargs: Any) -> Awaitable[None]:
    scope: Any = args[0] if args else kwargs.get("scope")
    # Not recorded: a mounted application (its scope has the outer one as "app"), and scopes other than requests, which
    # last as long as the server (lifespan) or the client (websocket) wants.
    if not isinstance(scope, MutableMapping) or _is_other(cast(_Scope, scope)):
        return wrapped(*args, **kwargs)
    border = WorkBorder(partial(_name, cast(_Scope, scope)))
    return _inside(border, wrapped, args, kwargs)


def _is_other(scope: _Scope) -> bool:
    return scope.get("type") != "http" or "app" in scope


async def _inside(border: WorkBorder, wrapped: Callable[..., Awaitable[None]], args: Any, kwargs: Any) -> None:
    with border.current():
        await wrapped(*args, **kwargs)


def _name(scope: _Scope) -> str:
    """Returns method and route template.  The real path may contain personal data, so it is not used."""
    path = getattr(scope.get("route"), "path", None)
    method = str(scope.get("method"))
    return f"{method} {scope.get('root_path', '')}{path}" if isinstance(path, str) else method


_instrumentation = Instrumentation([Wrap(_MODULE, "Starlette.__call__", _call)])


def patch() -> None:
    """Wraps the calls of applications.  A second time changes nothing."""
    _instrumentation.patch()


def unpatch() -> None:
    """Restores Starlette's method."""
    _instrumentation.unpatch()
