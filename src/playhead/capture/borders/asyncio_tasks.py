"""Groups asyncio's tasks: a task, such as that of `asyncio.run`, and the tasks that it waits for with `gather` are one
run.

Other tasks have runs of their own: a task that nobody waits for may serve another request, like the handlers of a
server or a bot, also inside `asyncio.run`.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from playhead.calls.borders import awaiting, awaiting_thread
from playhead.capture.patching import Instrumentation, Wrap

SUPPORTS = "python >= 3.11"

T = TypeVar("T")


def _gather(wrapped: Callable[..., T], _: object, args: tuple[object, ...], kwargs: dict[str, object]) -> T:
    with awaiting(args):
        return wrapped(*args, **kwargs)


async def _to_thread(
    wrapped: Callable[..., Awaitable[T]], _: object, args: tuple[object, ...], kwargs: dict[str, object]
) -> T:
    with awaiting_thread():
        return await wrapped(*args, **kwargs)


_wraps = [Wrap("asyncio", "gather", _gather), Wrap("asyncio", "to_thread", _to_thread)]
if sys.version_info < (3, 12):  # later ones make no task of a coroutine there

    async def _wait_for(
        wrapped: Callable[..., Awaitable[T]], _: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> T:
        with awaiting((args[0] if args else kwargs.get("fut"),)):
            return await wrapped(*args, **kwargs)

    _wraps.append(Wrap("asyncio", "wait_for", _wait_for))

_instrumentation = Instrumentation(_wraps)


def patch() -> None:
    """Wraps `gather`, `to_thread`, and `wait_for` before Python 3.12.  A second time changes nothing."""
    _instrumentation.patch()


def unpatch() -> None:
    """Restores asyncio's functions."""
    _instrumentation.unpatch()
