"""Tasks of Celery: the calls of one execution of a task are one run, named after the task.

Celery's signals tell when a task begins and ends.
"""

from importlib import import_module
from types import ModuleType

from playhead.calls.borders import WorkBorder
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded

SUPPORTS = "celery >= 5.4"
_NAME = "playhead"


class _ExecutedTasks:
    """Borders of the tasks that are being executed, by Celery's task id."""

    mutex = ForkSafeLock()
    borders: dict[str | None, WorkBorder] = {}  # noqa: RUF012 - of the process


def patch() -> None:
    """Listens to Celery's signals.  A second time changes nothing."""
    signals = _signals()
    signals.task_prerun.connect(_began, weak=False, dispatch_uid=_NAME)
    signals.task_postrun.connect(_ended, weak=False, dispatch_uid=_NAME)


def unpatch() -> None:
    """Stops listening to Celery's signals."""
    signals = _signals()
    signals.task_prerun.disconnect(dispatch_uid=_NAME)
    signals.task_postrun.disconnect(dispatch_uid=_NAME)


def _signals() -> ModuleType:
    return import_module("celery.signals")


def _began(sender: object = None, task_id: str | None = None, **_: object) -> None:
    with guarded("note that a task of Celery begins"):
        border = WorkBorder(str(getattr(sender, "name", None) or "celery task"))
        border.begin()
        with _ExecutedTasks.mutex:
            _ExecutedTasks.borders[task_id] = border


def _ended(task_id: str | None = None, **_: object) -> None:
    with guarded("note that a task of Celery has ended"):
        with _ExecutedTasks.mutex:
            border = _ExecutedTasks.borders.pop(task_id, None)
        if border is not None:
            border.end()
