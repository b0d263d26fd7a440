"""Requests of Starlette and FastAPI: the calls of one request, and of its background tasks, are one run.

It is named after the route: `POST /chats/{chat}`.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial

from playhead.calls.borders import WorkBorder
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted

SUPPORTS = "starlette >= 0.40"
_MODULE = "starlette.applications"

_Scope = MutableMapping[str, object]


@intercepted
def _call(function: Callable[..., Awaitable[None]], called: MethodCall) -> Awaitable[None]:
    scope: _Scope | None = called.argument(0, "scope")
    # Not recorded: a mounted application (its scope has the outer one as "app"), and scopes other than requests, which
    # last as long as the server (lifespan) or the client (websocket) wants.
    if not isinstance(scope, MutableMapping) or _is_other(scope):
        return called.make(function)
    return _inside(WorkBorder(partial(_name, scope)), function, called)


def _is_other(scope: _Scope) -> bool:
    return scope.get("type") != "http" or "app" in scope


async def _inside(border: WorkBorder, function: Callable[..., Awaitable[None]], called: MethodCall) -> None:
    with border.current():
        await called.make(function)


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
