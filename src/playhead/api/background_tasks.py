"""Runs background tasks of Starlette and FastAPI inside the run that added them, as asyncio does for its tasks.

The framework executes them after the response, when the endpoint has returned.
"""

from typing import Any, cast

from opentelemetry import context as otel

from playhead.calls.begin import CURRENT
from playhead.kernel.guard import guarded

_CONTEXT = "_playhead_context"


class _Hook:
    """Remembers whether the import hook is registered."""

    registered = False


def carry_run_into_background_tasks() -> None:
    """Wraps Starlette's class of background tasks, now or as soon as it is imported. A second call does nothing."""
    if not _Hook.registered:
        import wrapt  # noqa: PLC0415 - a program that decorates nothing needs it only when recording starts

        _Hook.registered = True
        wrapt.register_post_import_hook(_patch, "starlette.background")


def _patch(module: Any) -> None:
    import wrapt  # noqa: PLC0415 - needed only when recording starts

    with guarded("follow Starlette's background tasks"):  # another version
        kind: Any = module.BackgroundTask
        kind.__init__ = wrapt.FunctionWrapper(kind.__init__, _init)
        kind.__call__ = wrapt.FunctionWrapper(kind.__call__, _call)


def _init(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> None:
    wrapped(*args, **kwargs)
    where = otel.get_current()
    if CURRENT in where:
        with guarded("follow a background task"):  # a subclass with slots
            setattr(instance, _CONTEXT, where)


def _call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    where = cast("dict[str, Any]", getattr(instance, "__dict__", {})).get(_CONTEXT)
    made = wrapped(*args, **kwargs)
    return made if where is None else _run_in_context(where, made)


async def _run_in_context(where: Any, made: Any) -> Any:
    token = otel.attach(where)
    try:
        return await made
    finally:
        otel.detach(token)
