"""What a resumed or forked run needs from the stage to the right: somebody who answers calls from a record.

A run that is not replayed has none, and pays one comparison per call for it.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from playhead.api.calls.flow import has_event_loop, is_alone
from playhead.api.replay_wait import Patience
from playhead.model import names
from playhead.model.ref import ContentRef

# Other tasks run in between; few are so far away that it matters, and a run that has diverged can wait.
_LOOK_AGAIN_SECONDS = 0.002

if TYPE_CHECKING:
    from playhead.api.calls.span import ObservedSpan


@dataclass(frozen=True, slots=True)
class Restore:
    """What can be made of a provider's recorded response, JSON values.  Both raise CannotRestore."""

    response: Callable[[Any, BaseException | None], Any]
    """The provider's own object of it; a stream ends with the exception, if there is one."""
    with_message: Callable[[Any, Any], Any]
    """The recorded response (None: nothing is known of it) with another message in it: a text, or the provider's."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What to ask instead.  `system`: another prompt, where that stands apart from the messages; None: the program's.
    `described`: how this was made, as JSON values for the record."""

    messages: list[Any]
    system: str | None
    described: Any


class Edit(Protocol):
    """A model is asked otherwise than the program asks it."""

    def applied(
        self, messages: Sequence[Any], system: str | None, ref_of: Callable[[Any], ContentRef | None]
    ) -> Edited | None:
        """To messages in the provider's form, and the ref of a system prompt that stands apart.

        None: nothing of the edit is about this call.  Raises RunStopped when it had to be.
        """
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gives without being executed.  `told`: it is news (a person set it), and is recorded as this run's;
    otherwise the record has it already.  `items`: what a generator gave, one by one; `ending`: what it raised after
    them.  `raw`: a model's response as it was received, or as it was changed.  With an `edit`, the call is executed
    after all, but asks with other messages."""

    value: Any = None
    error: BaseException | None = None
    items: list[Any] | None = None
    ending: BaseException | None = None
    told: bool = False
    raw: Any = None
    edit: Edit | None = None

    def give(self) -> Any:
        """The value, or the exception."""
        if self.error is not None:
            raise self.error
        return self.value


class Replay(Protocol):
    """Answers the calls of one run.  Safe for threads and tasks."""

    patience_seconds: float
    """How long a call may wait while `is_undecided`: see `api.patience`."""

    @property
    def progress(self) -> int:
        """Another number when a branch has done something since: `is_undecided` may say something else then."""
        ...

    def is_undecided(self, span: "ObservedSpan") -> bool:
        """Whether the answer depends on which calls other branches make: the caller may wait, and then ask."""
        ...

    def answer(self, span: "ObservedSpan", restore: Restore | None, *, waited: bool = False) -> Answer | None:
        """The answer to a call whose arguments are in the span; None: execute it.  `waited`: the caller has waited for
        other branches as long as it may.

        Raises RunStopped into the program: divergence and doubt are what its caller asked to hear of.
        """
        ...

    def enclosing(self, span: "ObservedSpan") -> None:
        """A call that is executed because others run inside it: decides its identity, and whether it is told again."""
        ...

    def ended(self, root: "ObservedSpan") -> None:
        """The run's root is about to end, without an error."""
        ...

    def repeats(self, event: str, span: "ObservedSpan") -> bool:
        """Whether the record has this log event of the call already: then it is not told twice."""
        ...


async def answered_async(span: "ObservedSpan") -> Answer | None:
    """As `answered`, in a task: other branches go on meanwhile."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None
    return replay.answer(span, None, waited=await _waited(replay, span))


async def _waited(replay: Replay, span: "ObservedSpan") -> bool:
    """Whether it was possible to wait until the answer is decided, or for as long as it may be waited for."""
    if not (has_event_loop() and replay.is_undecided(span)):
        return False
    progress = replay.progress
    patience = Patience(replay.patience_seconds, progress)
    while not is_alone() and patience.lasts(replay.progress):
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        if replay.progress != progress:  # else the verdict is the same, and many that wait must not keep the loop busy
            progress = replay.progress
            if not replay.is_undecided(span):
                break
    return True


def answered(span: "ObservedSpan", restore: Restore | None = None) -> Answer | None:
    """The recorded answer to a call that can have one.  Raises RunStopped."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None
    return replay.answer(span, restore)


def idempotency_key_of(run_id: str, attributes: Mapping[str, Any]) -> str:
    """The same for a call in every attempt of its run, and for no other call, from its key and its arguments.

    A call that is executed again has the recorded call's key, however late it comes this time; a call that the record
    does not have gets a key that the record does not have.
    """
    arguments = attributes.get(names.TOOL_ARGUMENTS_REF) or attributes.get(names.INPUT_REF)
    identity = f"{run_id} {attributes.get(names.CALL_KEY, '')} {arguments}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]
