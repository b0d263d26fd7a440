"""A run while it is recorded: id, counters, and attributes of its root."""

import os
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import WeakSet

from playhead.api.forks import fork_safe_lock
from playhead.api.guard import swallowed, warn_once
from playhead.api.ids import new_process_id, new_run_id
from playhead.api.ports import RunOwner, RunThreads
from playhead.api.replaying import Replay
from playhead.api.starting import StartingPoint
from playhead.model import names
from playhead.model.objects.interrupts import let_through
from playhead.model.objects.plain_forms import safe_repr
from playhead.settings.retention import RETENTION, retention_seconds

_live: "WeakSet[ActiveRun]" = WeakSet()


def _in_forked_child() -> None:
    for run in tuple(_live):
        run.go_on_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)


class ActiveRun:
    """One execution of an agent, as far as this process records it. Safe for threads.

    Starts of spans and log events share one counter, ends have their own. Together they order what this process records
    of the run without clocks. A forked child goes on with the run as another process, with counters of its own.
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
        """Whether the sampler has been asked, which it is for the first call."""
        self.is_trace = is_trace
        """Whether it is what has this trace, in any process: then nobody owns it, and it is ordered by time."""
        self.is_request = False
        """Whether its calls are those inside one span that another process has asked for, and that begins no agent."""
        self.name: str | None = None
        """For a run without an agent: what started it, if that is known."""
        self.answers: dict[int, None] | None = None
        """For a run whose calls are told by what they say: hashes of what models answered in it."""
        self.process = process
        """The id of this process in the run; None in the one that began the run, or goes on with it from its record."""
        self.forked_after: str | None = None
        """In a forked child: the last that its parent had counted, as `names.PROCESS_AFTER` says it."""
        self.trace_id: int | None = None
        """That of its first call."""
        self.replay: Replay[Any] | None = None
        """Who answers its calls, for a run that is resumed or forked."""
        self.earlier: NextRun | None = None
        """Of a run that began where another one was to go on from its record: that one."""
        self.owner: RunOwner | None = None
        """Whether this process still owns the run. None: no other process can take it over."""
        self.start: StartingPoint | None = None
        """Where it goes on, if it has a record or continues another run."""
        self.values: Any = None
        """What it reads besides its calls, where that is recorded: see `api.values`."""
        self.root: dict[str, Any] = {}
        """Attributes for its root, beside what the root itself says."""
        self.describe_root: Callable[[Any], None] | None = None
        """Adds attributes to its root that refer to content, which is written together with the root."""
        self.ends = count(1)
        self.last = 0
        """The number of the latest start or log event."""
        self._starts = count(1)
        self.occurrences: dict[str, Any] = {}
        self.outer_span: int | None = None
        """For a run without an agent: the last span around its calls that was recorded, of another instrumentation."""
        self.flow_prefix = ""
        """Before the numbers of its flows, where it goes on from a record that has such numbers, too."""
        self._flows = count(1)
        self.threads = RunThreads()
        # Tool calls that a model asked for and that no tool span has answered yet: name -> arguments and call id.
        self.requested: dict[str, list[tuple[bytes, str]]] = {}
        self.responses: dict[str, Any] = {}
        """What is known of a model's responses, by their ids, where the server keeps the conversation."""
        self._mutex = fork_safe_lock()
        _live.add(self)

    @property
    def is_named_by_span(self) -> bool:
        """Whether it has no agent, and its name is that of the span of another instrumentation around its calls."""
        return self.is_trace or self.is_request

    @property
    def is_owner_process(self) -> bool:
        """Whether this process began the run, or goes on with it from its record."""
        return self.process is None and not self.is_trace

    def go_on_in_child(self) -> None:
        """Makes a forked child a process of its own: what it counts is not its parent's. A run that is prepared and has
        not begun is nobody's yet: whichever process begins it has it."""
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
        """Whether another process has taken the run over: nothing of it is recorded here any more."""
        return self.owner is not None and self.owner.loss(exact=False) is not None

    def next_start(self) -> int | None:
        """The next number of this process for a span's start or a log event; None if the run is a trace."""
        if self.is_trace:
            return None
        with self._mutex:  # `last` must never go back, or an end would be placed before the start that it saw
            # One step of the interpreter: no signal's handler that makes a call can get the same number in between.
            self.last = number = next(self._starts)
        return number

    def go_on_after(self, number: int) -> None:
        """The next start has the number after this one: the run goes on from a record."""
        self.last, self._starts = number, count(number + 1)

    def flow_number(self) -> str:
        """Returns a new flow number with each call; see `api.calls.flow`."""
        return f"{self.flow_prefix}{next(self._flows)}"

    def occurrence(self, key: str) -> int:
        """1 for the first call with this path, kind and name, then 2, ..."""
        counter = self.occurrences.get(key)
        if counter is None:
            counter = self.occurrences.setdefault(key, count(1))
        return next(counter)


class NextRun:
    """A run that goes on from its record, for the first run that begins in a block, or in this process."""

    __slots__ = ("_waiting", "run")

    def __init__(self, run: ActiveRun) -> None:
        self.run = run
        self._waiting = [run]

    @property
    def is_waiting(self) -> bool:
        """Whether no run has begun yet."""
        return bool(self._waiting)

    def take(self) -> ActiveRun | None:
        """The run, once; None when it has begun."""
        try:
            return self._waiting.pop()
        except IndexError:  # of two threads, one gets it
            return None


def root_attributes(session: Any, user: Any, tags: Any, retention: Any = None) -> dict[str, Any]:
    """Returns the root span's attributes for session, user, tags and retention; empty, with a warning, if they cannot
    be read."""
    try:
        found = {names.CONVERSATION: session, names.USER: user}
        said: dict[str, Any] = {name: str(value) for name, value in found.items() if value is not None}
        if tags:
            said[names.RUN_TAGS] = [tags] if isinstance(tags, str) else [str(tag) for tag in tags]
        if retention is not None:
            said |= _retention(retention)
        return said
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("describe a run", error)
        return {}


def _retention(value: object) -> dict[str, Any]:
    try:
        return {names.RUN_RETENTION: retention_seconds(value)}
    except (ValueError, TypeError):
        said = safe_repr(value)
        warn_once(f"retention {said}", f"retention={said} is ignored: expected {RETENTION.accepts}, or a timedelta")
        return {}
