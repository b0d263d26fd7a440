"""Starting point of a run that is resumed or forked, or that continues another run: checkpoint, state, conversation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from playhead.model.event import TokenUsage

_NOT_READ: Any = object()


class RecordedCheckpoint:
    """A checkpoint of a recorded run. `name`: as given by the program. `time_ns`: nanoseconds since 1970."""

    def __init__(self, run: str, name: str | None, time_ns: int, order: int, load: Callable[[], Any]):
        """`order`: its number in the run; `load` restores the state, and raises CannotRestore."""
        self.run = run
        self.name = name
        self.time_ns = time_ns
        self.order = order
        self._load = load
        self._state: Any = _NOT_READ

    @property
    def state(self) -> Any:
        """The state with its types: JSON values, dataclasses, pydantic models, and other types that resume restores.

        Fields that a class has gained since have their defaults. Raises CannotRestore if the state was not recorded
        completely, or its class no longer exists; the message says what to do.
        """
        if self._state is _NOT_READ:
            self._state = self._load()
        return self._state

    def __repr__(self) -> str:
        """Returns the checkpoint's name (or number) and run, without its state."""
        return f"<RecordedCheckpoint {self.name or self.order} of run {self.run}>"


@dataclass(frozen=True, slots=True)
class RecordedUsage:
    """A recorded model call. `model`: that answered. `is_repeated`: whether the program makes the call again, and gets
    the recorded answer; False: it is before the checkpoint from which the run goes on."""

    model: str
    usage: "TokenUsage"
    is_repeated: bool


class StartingPoint(Protocol):
    """Starting point of a run that is resumed or forked, or that continues another run."""

    @property
    def checkpoint(self) -> RecordedCheckpoint | None:
        """The last recorded checkpoint; None if there is none."""
        ...

    @property
    def state(self) -> Mapping[str, Any]:
        """Values of `run.state` at the end of the record, or at the checkpoint for a run that starts there."""
        ...

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation of the last model call with its answer, in the form of OpenAI's Chat Completions."""
        ...

    @property
    def recorded_usage(self) -> "Sequence[RecordedUsage]":
        """Each model call in the record of a resumed or forked run that has completed; empty for a run that continues
        another one."""
        ...

    @property
    def run_id(self) -> str:
        """The id of the recorded run."""
        ...

    @property
    def root(self) -> tuple[str, str] | None:
        """Trace id and span id of that run's outermost call."""
        ...

    def begin_here(self) -> RecordedCheckpoint | None:
        """Makes the run start at the checkpoint, and returns that (None: there is none): earlier calls and log events
        are not expected again."""
        ...


class _Reader:
    """Reads the record of a run that another one continues. `playhead.configuring` provides it."""

    read: Callable[[str], StartingPoint] | None = None
    last_of_session: Callable[[str, str], str | None] | None = None


def read_starting_points_with(
    read: Callable[[str], StartingPoint], last_of_session: Callable[[str, str], str | None]
) -> None:
    """Sets the functions that read the record of a run (raises ReplayError), and that find the last run of a session
    other than the given one."""
    _Reader.read = staticmethod(read)
    _Reader.last_of_session = staticmethod(last_of_session)


def starting_point_of(run_id: str) -> StartingPoint:
    """Returns the starting point for a run that continues the run `run_id`. Raises NoRecord."""
    if _Reader.read is None:
        raise RuntimeError("import playhead first")
    return _Reader.read(run_id)


def last_run_of_session(session: str, other_than: str) -> str | None:
    """Returns the id of the run of this session that ended last, other than the given one; None: there is none."""
    if _Reader.last_of_session is None:
        raise RuntimeError("import playhead first")
    return _Reader.last_of_session(session, other_than)
