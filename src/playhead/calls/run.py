"""A run while it is recorded: id, counters, and attributes of its root."""

import os
import threading
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import WeakSet

from playhead.calls.recorder import KnownThreads, RunOwner
from playhead.calls.replay import Replay
from playhead.calls.starting import StartingPoint
from playhead.kernel.guard import guarded, warn_once
from playhead.kernel.ids import new_process_id, new_run_id
from playhead.model import names
from playhead.model.objects.plain_forms import safe_repr
from playhead.settings.sdk import RETENTION, retention_seconds

_MAX_RESPONSES = 4096  # bounds the memory of an endless run

_live: "WeakSet[ActiveRun]" = WeakSet()


def _in_forked_child() -> None:
    for run in tuple(_live):
        run.renew_lock()
        run.go_on_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)


class ActiveRun:
    """One execution of an agent, as far as this process records it. Safe for threads.

    Starts of spans and log events share one counter, ends have their own. Together they order the records of this
    process without clocks. A forked child continues the run as another process, with counters of its own.
    """

    __slots__ = (
        "__weakref__",
        "_flows",
        "_mutex",
        "_starts",
        "answers",
        "attempt",
        "describe_root",
        "earlier",
        "ends",
        "flow_prefix",
        "forked_after",
        "id",
        "is_decided",
        "is_request",
        "is_trace",
        "last",
        "name",
        "occurrences",
        "outer_span",
        "owner",
        "process",
        "recorded",
        "replay",
        "requested",
        "responses",
        "root",
        "start",
        "threads",
        "trace_id",
        "values",
    )

    def __init__(
        self,
        *,
        recorded: bool = True,
        run_id: str | None = None,
        attempt: int = 0,
        is_trace: bool = False,
        process: str | None = None,
    ) -> None:
        """`process`: an id for this process, in a run that another one has begun."""
        self.id = run_id or new_run_id()
        self.attempt = attempt
        self.recorded = recorded
        self.is_decided = False
        """Whether the sampler has decided; it decides with the first call."""
        self.is_trace = is_trace
        """Whether the run consists of all calls of one trace, in any process. It then has no owner, and is ordered by
        time."""
        self.is_request = False
        """Whether the run consists of the calls without an agent inside one span with a remote parent."""
        self.name: str | None = None
        """For a run without an agent: name of the work that started it; None: unknown."""
        self.answers: dict[int, None] | None = None
        """Hashes of the models' answers, for a run whose calls are grouped by their messages; None for other runs."""
        self.process = process
        """The id of this process in the run; None in the process that began or resumed the run."""
        self.forked_after: str | None = None
        """In a forked child: the last number that its parent had counted, in the form of `names.PROCESS_AFTER`."""
        self.trace_id: int | None = None
        """The trace id of its first call."""
        self.replay: Replay[Any] | None = None
        """Answers the calls of a resumed or forked run; None: the run is new."""
        self.earlier: NextRun | None = None
        """For a run that began inside the block or process of a `resume()` or `fork()`: the resumed or forked run."""
        self.owner: RunOwner | None = None
        """Tells whether this process still owns the run. None: no other process can take it over."""
        self.start: StartingPoint | None = None
        """Where the run starts, if it is resumed or forked, or continues another run."""
        self.values: Any = None
        """The values (clock, random, UUID) that it records: see `api.recorded_values`. None: it records none."""
        self.root: dict[str, Any] = {}
        """Further attributes for the root span."""
        self.describe_root: Callable[[Any], None] | None = None
        """Adds attributes to the root span that refer to content, which is written together with the span."""
        self.ends = count(1)
        self.last = 0
        """The number of the latest start or log event."""
        self._starts = count(1)
        self.occurrences: dict[str, Any] = {}
        self.outer_span: int | None = None
        """For a run without an agent: id of the last recorded outermost span of another instrumentation around it."""
        self.flow_prefix = ""
        """Prefix of its flow numbers in a resumed run, so that they differ from those in the record."""
        self._flows = count(1)
        self.threads = KnownThreads()
        # Tool calls that a model asked for and that no tool span has answered yet: name -> arguments and call id.
        self.requested: dict[str, list[tuple[bytes, str]]] = {}
        self.responses: dict[str, Any] = {}
        """Data about model responses by their ids, for APIs where the server keeps the conversation."""
        self._mutex = threading.RLock()  # not ForkSafeLock: it is taken in each call
        _live.add(self)

    def remember_response(self, response_id: str, about: object) -> None:
        """Adds to `responses`; of an endless run, the oldest are forgotten."""
        self.responses[response_id] = about
        while len(self.responses) > _MAX_RESPONSES:
            self.responses.pop(next(iter(self.responses)), None)

    @property
    def is_named_by_span(self) -> bool:
        """Whether the run has no agent and takes its name from the span of another instrumentation around its calls."""
        return self.is_trace or self.is_request

    @property
    def is_owner_process(self) -> bool:
        """Whether this process began or resumed the run."""
        return self.process is None and not self.is_trace

    def renew_lock(self) -> None:
        """Replaces the lock, in a forked child: a thread of the parent may have held it."""
        self._mutex = threading.RLock()

    def go_on_in_child(self) -> None:
        """Makes a forked child a separate process of the run, with its own counters. Does nothing for a run that is
        prepared and has not begun: it belongs to the process that begins it."""
        has_begun = self.trace_id is not None or self.process is not None
        if self.is_trace or not has_begun:
            return
        if self.last:
            self.forked_after = f"{self.process or ''}#{self.last}"
        self.process, self.last = new_process_id(), 0
        self._starts, self.ends, self.occurrences = count(1), count(1), {}
        if self.replay is not None:
            self.replay = self.replay.in_forked_child()

    def is_taken_over(self) -> bool:
        """Whether another process has taken the run over: this process then records nothing more of it."""
        return self.owner is not None and self.owner.loss(exact=False) is not None

    def next_start(self) -> int | None:
        """Returns the next number of this process for a span's start or a log event; None if the run is a trace."""
        if self.is_trace:
            return None
        with self._mutex:  # `last` must never decrease, or an end would be ordered before a start that preceded it
            # `next` is atomic, so a signal's handler that makes a call here cannot get the same number.
            self.last = number = next(self._starts)
        return number

    def continue_numbering(self, number: int) -> None:
        """Continues the counter of starts after this number, the last one in the record."""
        self.last, self._starts = number, count(number + 1)

    def flow_number(self) -> str:
        """Returns a new flow number with each call; see `calls.flow`."""
        return f"{self.flow_prefix}{next(self._flows)}"

    def occurrence(self, key: str) -> int:
        """Returns 1 for the first call with this path, kind and name, then 2, and so on."""
        counter = self.occurrences.get(key)
        if counter is None:
            counter = self.occurrences.setdefault(key, count(1))
        return next(counter)


class NextRun:
    """A run to resume or fork; the first run that begins in the block, or in this process, becomes it."""

    __slots__ = ("_waiting", "run")

    def __init__(self, run: ActiveRun) -> None:
        self.run = run
        self._waiting = [run]

    @property
    def is_waiting(self) -> bool:
        """Whether the run has not begun yet."""
        return bool(self._waiting)

    def take(self) -> ActiveRun | None:
        """Returns the run on the first call, then None."""
        try:
            return self._waiting.pop()
        except IndexError:  # another thread has taken it
            return None


def root_attributes(session: Any, user: Any, tags: Any, retention: Any = None) -> dict[str, Any]:
    """Returns the root span's attributes for session, user, tags and retention; empty, with a warning, if they cannot
    be read."""
    with guarded("describe a run"):
        values = {names.CONVERSATION: session, names.USER: user}
        attributes: dict[str, Any] = {name: str(value) for name, value in values.items() if value is not None}
        if tags:
            attributes[names.RUN_TAGS] = [tags] if isinstance(tags, str) else [str(tag) for tag in tags]
        if retention is not None:
            attributes |= _retention(retention)
        return attributes
    return {}


def _retention(value: object) -> dict[str, Any]:
    try:
        return {names.RUN_RETENTION: retention_seconds(value)}
    except (ValueError, TypeError):
        text = safe_repr(value)
        warn_once(f"retention {text}", f"retention={text} is ignored: expected {RETENTION.accepts}, or a timedelta")
        return {}
