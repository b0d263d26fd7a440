"""Interface for answering calls of a resumed or forked run from its record.

A run that is not replayed has no `Replay`, which costs one comparison per call.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from playhead.model import names
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef

if TYPE_CHECKING:
    from playhead.wire.operations.promises import PromiseAnswer

SpanT_contra = TypeVar("SpanT_contra", contravariant=True)
"""`ObservedSpan`; a type parameter avoids a circular import: a span refers to its run, and the run to its `Replay`."""


@dataclass(frozen=True, slots=True)
class ResponseRestorer:
    """Turns a provider's recorded response (JSON values) into the provider's objects. Both functions raise
    CannotRestore."""

    response: Callable[[Any, BaseException | None], Any]
    """Returns the provider's object for a recorded response; a stream ends with the exception, if there is one."""
    with_message: Callable[[Any, Any], Any]
    """Returns the recorded response (None: unknown) with its message replaced by a text or a provider's message."""


@dataclass(frozen=True, slots=True)
class EditedRequest:
    """Messages to send instead of the program's. `system`: replacement of a separate system prompt; None: keep it.
    `description`: the edit as JSON values, for the record."""

    messages: list[Any]
    system: str | None
    description: Any


class RequestEdit(Protocol):
    """Replaces the messages or the system prompt of a model call."""

    def apply(
        self, messages: Sequence[Any], system: str | None, ref_of: Callable[[Any], ContentRef | None]
    ) -> EditedRequest | None:
        """Applies the edit to messages in the provider's form and the ref of a separate system prompt.

        Returns None if the edit does not apply to this call. Raises RunStopped if it has to apply, but does not.
        """
        ...


class AnswerSlot(Protocol):
    """The turn of an answer among those of parallel calls: they are returned in the order in which the calls ended in
    the record."""

    def is_due(self) -> bool:
        """Whether all earlier answers have been returned, or are not waited for any more."""
        ...

    def on_due(self, wake: Callable[[], object]) -> None:
        """Calls `wake` as soon as the answer is due: perhaps at once, and in any thread."""
        ...

    def rest_seconds(self) -> float:
        """Seconds that a thread still has to wait when the answer is due, so that the program sees the previous one
        first; 0 or less: none."""
        ...

    def deliver(self) -> None:
        """Marks the answer as returned, which may make the next ones due."""
        ...

    def abandon(self) -> None:
        """Ends all waiting for turns in this run: an earlier answer did not come within the waiting time."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """Outcome of a call that is not executed. `is_new`: a person set it, so it is recorded in this run; otherwise it is
    from the record. `items`: values of a generator; `ending`: the exception after them. `raw`: a model's response as
    received or as changed. With an `edit`, the call is executed with other messages. `slot`: when to return it; None:
    at once."""

    value: Any = None
    error: BaseException | None = None
    items: list[Any] | None = None
    ending: BaseException | None = None
    is_new: bool = False
    raw: Any = None
    edit: RequestEdit | None = None
    continue_live: Callable[[], bool] | None = None
    slot: AnswerSlot | None = None

    def continues_live(self) -> bool:
        """Called when the program has read all `items`. True: execute the generator, and skip the items that the
        program already has. False: the generator ends here. Raises `ending` if there is one and it is not executed."""
        if self.ending is None:
            return False
        if self.continue_live is None or not self.continue_live():
            raise self.ending
        return True

    def unwrap(self) -> Any:
        """Returns the value, or raises the recorded error."""
        if self.slot is not None:
            self.slot.deliver()
        if self.error is not None:
            raise self.error
        return self.value


class Replay(Protocol[SpanT_contra]):
    """Answers the calls of one run.  Safe for threads and tasks."""

    branch_wait_seconds: float
    """How long a call may wait while `is_undecided`: see `calls.recorded_answer`."""

    @property
    def is_stopped(self) -> bool:
        """Whether RunStopped was raised in a branch. Calls that other branches leave or close afterwards then do not
        count as ended."""
        ...

    @property
    def progress(self) -> int:
        """A number that changes with each step of a branch; `is_undecided` may then return another result."""
        ...

    def is_undecided(self, span: SpanT_contra) -> bool:
        """Whether the answer depends on calls that other branches have not made yet: wait and ask again."""
        ...

    def answer(
        self, span: SpanT_contra, restore: ResponseRestorer | None, *, waited: bool = False
    ) -> ReplayAnswer | None:
        """Returns the answer to a call whose arguments are in the span; None: execute it. `waited`: the caller has
        already waited for other branches as long as allowed.

        Raises RunStopped into the program, e.g. when it diverges from the record or a tool call is in doubt.
        """
        ...

    def answer_in_later_run(self, span: SpanT_contra) -> ReplayAnswer | None:
        """Returns the answer to a call of another run that began later in the same `resume()` block or process. A
        program whose outermost function is no longer observed makes the recorded calls in such runs. None: execute the
        call. Raises RunStopped."""
        ...

    def has_question(self, span: SpanT_contra) -> bool:
        """Whether the record has a call with this path and request (even if its answer was already used), or a person's
        edits may concern this call. Changes nothing."""
        ...

    def enter_enclosing(self, span: SpanT_contra) -> None:
        """Called for a call that is executed because other calls run inside it: sets its ids and its call key from the
        record, and decides whether it is announced again. Raises RunStopped."""
        ...

    def on_unrecorded_end(self, span: SpanT_contra) -> None:
        """Called before a silent (unannounced) call ends in any way: announces it if the record lacks its end."""
        ...

    def run_ended(self, root: SpanT_contra) -> None:
        """Called before the run's root ends without an error."""
        ...

    def has_log_event(self, event: str, span: SpanT_contra, identity: str | None = None) -> bool:
        """Whether the record already has this log event of the call, so that it is not written twice. `identity`: key
        by which to find the event, instead of its call."""
        ...

    def in_forked_child(self) -> "Replay[SpanT_contra] | None":
        """Returns the `Replay` for the calls of a forked child, which the parent's record does not have; None: they are
        executed."""
        ...

    @property
    def is_fork(self) -> bool:
        """Whether this run is a fork, not a resume of the recorded run."""
        ...

    def recorded_promise(self, key: str) -> str | None:
        """Returns the id of the promise that this run has opened under the key; None: there is none, or it is another
        run's."""
        ...

    def promise_answer(self, key: str) -> "PromiseAnswer | None":
        """Returns the recorded answer to the promise with this key; None if the record has none."""
        ...

    @property
    def had_completed(self) -> bool:
        """Whether the resumed run had completed, so that it only returns its recorded results."""
        ...

    def refuse_promise(self, what: str) -> None:
        """Raises RunStopped: a completed run must not wait for a new promise. `what`: the promise, for the message."""
        ...


def idempotency_key_of(run_id: str, attributes: Mapping[str, Any]) -> str:
    """Returns the idempotency key of a call, a hash of run id, call key and arguments: equal in every attempt of its
    run, different for any other call.

    A call that is executed again has the recorded call's key, whatever its order this time; a call that is not in the
    record gets a key that is not in the record. In a process that was handed a part of the run, whose calls are never
    answered from a record, the key holds for one execution only.
    """
    arguments = attributes.get(names.TOOL_ARGUMENTS_REF) or attributes.get(names.INPUT_REF)
    identity = f"{run_id} {attributes.get(names.CALL_KEY, '')} {arguments}"
    if (process := attributes.get(names.PROCESS_ID)) is not None:
        identity += f" {process}"
    return sha256(identity.encode()).hexdigest()[:32]
