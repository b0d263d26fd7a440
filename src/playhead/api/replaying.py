"""Interface for answering calls of a resumed or forked run from its record.

A run that is not replayed has none, and pays one comparison per call for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from playhead.model import names
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef

if TYPE_CHECKING:
    from playhead.wire.answers.promises import PromiseAnswer

SpanT_contra = TypeVar("SpanT_contra", contravariant=True)
"""`ObservedSpan`: a parameter here, since the span of a call knows its run, and the run its `Replay`."""


@dataclass(frozen=True, slots=True)
class ResponseRestorer:
    """Turns a provider's recorded response (JSON values) into the provider's objects. Both functions raise
    CannotRestore."""

    response: Callable[[Any, BaseException | None], Any]
    """The provider's own object of it; a stream ends with the exception, if there is one."""
    with_message: Callable[[Any, Any], Any]
    """The recorded response (None: nothing is known of it) with another message in it: a text, or the provider's."""


@dataclass(frozen=True, slots=True)
class EditedRequest:
    """Messages to send instead of the program's. `system`: a replacement for a separate system prompt, None to keep
    it. `description`: how the edit was made, as JSON values for the record."""

    messages: list[Any]
    system: str | None
    description: Any


class RequestEdit(Protocol):
    """Replaces the messages or the system prompt of a model call."""

    def apply(
        self, messages: Sequence[Any], system: str | None, ref_of: Callable[[Any], ContentRef | None]
    ) -> EditedRequest | None:
        """Applies the edit to messages in the provider's form and the ref of a separate system prompt.

        None: nothing of the edit is about this call.  Raises RunStopped when it had to be.
        """
        ...


class AnswerTurn(Protocol):
    """When an answer is given back, among those of parallel calls: in the order in which these had ended."""

    def is_due(self) -> bool:
        """Whether those that come before it have been given back, or are not waited for any more."""
        ...

    def when_due(self, wake: Callable[[], object]) -> None:
        """Calls `wake` once it is due, which may be at once, in any thread."""
        ...

    def rest_seconds(self) -> float:
        """How long a thread waits with it once it is due, so that the program sees the one before it first; 0 or less:
        not at all."""
        ...

    def take(self) -> None:
        """It is given back now."""
        ...

    def give_up(self) -> None:
        """Nothing has come for as long as may be waited: no answer of this run waits any more."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """Outcome of a call that is not executed. `is_new`: a person set it, so it is recorded in this run; otherwise
    the record has it. `items`: values of a generator; `ending`: the exception after them. `raw`: a model's response
    as received or as changed. With an `edit`, the call is executed with other messages. `turn`: without one, it may be
    given back at once."""

    value: Any = None
    error: BaseException | None = None
    items: list[Any] | None = None
    ending: BaseException | None = None
    is_new: bool = False
    raw: Any = None
    edit: RequestEdit | None = None
    read_on: Callable[[], bool] | None = None
    turn: AnswerTurn | None = None

    def reads_on(self) -> bool:
        """Asked when all `items` were read.  True: execute the generator, and pass its first items over, which the
        program has.  Raises the ending."""
        if self.ending is None:
            return False
        if self.read_on is None or not self.read_on():
            raise self.ending
        return True

    def unwrap(self) -> Any:
        """Returns the value, or raises the recorded error."""
        if self.turn is not None:
            self.turn.take()
        if self.error is not None:
            raise self.error
        return self.value


class Replay(Protocol[SpanT_contra]):
    """Answers the calls of one run.  Safe for threads and tasks."""

    branch_wait_seconds: float
    """How long a call may wait while `is_undecided`: see `api.replay_wait`."""

    @property
    def is_stopped(self) -> bool:
        """Whether RunStopped was raised in a branch. What other branches leave or close from then on was not their
        choice."""
        ...

    @property
    def progress(self) -> int:
        """A number that changes whenever a branch has done something; `is_undecided` may then have another result."""
        ...

    def is_undecided(self, span: SpanT_contra) -> bool:
        """Whether the answer depends on calls that other branches have yet to make: the caller may
        wait and ask again.
        """
        ...

    def answer(
        self, span: SpanT_contra, restore: ResponseRestorer | None, *, waited: bool = False
    ) -> ReplayAnswer | None:
        """The answer to a call whose arguments are in the span; None: execute it.  `waited`: the caller has waited for
        other branches as long as it may.

        Raises RunStopped into the program: divergence and doubt are what its caller asked to hear of.
        """
        ...

    def answer_in_later_run(self, span: SpanT_contra) -> ReplayAnswer | None:
        """The answer to a call of another run, which began in the block or the process in which this one was to go on,
        after it: a program whose outermost function is not observed any more makes the recorded calls there.  None:
        execute it.  Raises RunStopped."""
        ...

    def has_question(self, span: SpanT_contra) -> bool:
        """Whether the record has a call with this path and question, answered already or not, or whether a person's
        edits may be about it.  Changes nothing."""
        ...

    def enter_enclosing(self, span: SpanT_contra) -> None:
        """Called for a call that is executed because others run inside it: decides its identity and whether it is
        announced again."""
        ...

    def unannounced_ends(self, span: SpanT_contra) -> None:
        """Called before a call that was not announced ends, however it ends: announces it if its end is new."""
        ...

    def run_ended(self, root: SpanT_contra) -> None:
        """Called before the run's root ends without an error."""
        ...

    def has_log_event(self, event: str, span: SpanT_contra, identity: str | None = None) -> bool:
        """Whether the record already has this log event of the call, so that it is not written twice. `identity`: it is
        known by this and not by its call."""
        ...

    def in_forked_child(self) -> "Replay[SpanT_contra] | None":
        """Who answers the calls of a forked child, which the record of its parent does not have; None: they are
        executed."""
        ...

    @property
    def is_fork(self) -> bool:
        """Whether this run is another than the recorded one."""
        ...

    def recorded_promise(self, key: str) -> str | None:
        """The id of the promise that this run has opened under the key; None: none, or it is another run's."""
        ...

    def promise_answer(self, key: str) -> "PromiseAnswer | None":
        """The recorded answer to the promise with this key; None: the record has none."""
        ...

    @property
    def had_completed(self) -> bool:
        """Whether the run only gives its recorded results again."""
        ...

    def refuse_promise(self, what: str) -> None:
        """Raises RunStopped: a run that had completed does not wait for this."""
        ...


def idempotency_key_of(run_id: str, attributes: Mapping[str, Any]) -> str:
    """Key of a call, from its call key and arguments: equal in every attempt of its run, different for any other call.

    A call that is executed again has the recorded call's key, however late it comes this time; a call that the record
    does not have gets a key that the record does not have.  So does a call of another process than the run's own, whose
    calls no record answers: its key holds for this one execution.
    """
    arguments = attributes.get(names.TOOL_ARGUMENTS_REF) or attributes.get(names.INPUT_REF)
    identity = f"{run_id} {attributes.get(names.CALL_KEY, '')} {arguments}"
    if (process := attributes.get(names.PROCESS_ID)) is not None:
        identity += f" {process}"
    return sha256(identity.encode()).hexdigest()[:32]
