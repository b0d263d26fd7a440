"""Errors of the SDK. They are raised by configuring, requests to the collector, the command line, promises, and
resumed, forked or stopped runs. Observing never raises.

PlayheadError                  everything we raise on purpose; the message ends with what to do
├─ SettingInvalid              a setting has a value that cannot be used
├─ JournalUnusable             the journal's folder cannot be used
├─ NotFaithful                 a value cannot be recorded so that it can be restored (internal)
├─ CannotRestore               a recorded value cannot be restored with its type
├─ Denied                      a person has refused what the program wanted to do
├─ Unanswered                  nobody has answered in time
├─ MaxTurnsExceeded            an agent has made as many model calls as it may
├─ OutputInvalid               a model's answer is not of the type that was asked for
├─ ToolArgumentsInvalid        a model's arguments for a tool do not fit its parameters; the model gets to know
├─ ReplayError                 a run cannot be resumed or forked as asked
│  ├─ NoRecord                 no record of the run was found
│  ├─ RunAlive                 another process is running it, or has records of it that have not arrived
│  ├─ ToolDenied               a what-if run may not execute this tool
│  ├─ UnrecordedTools          tools were executed outside the record, and would be executed again
│  └─ RunStopped               the run is paused until a person decides; its calls stay open
│     ├─ Interrupted           a person asked the run to stop
│     ├─ RunTakenOver          another process continues the run
│     ├─ ReplayDiverged        the program makes another call than the record has
│     ├─ MaskedContent         a part of what the program needs of the record was masked by rules of its project
│     └─ InDoubt               a call may have taken effect, and running it again may do so twice
└─ ClientError                 a request to the collector failed
   ├─ CollectorUnreachable     no answer from the collector's address
   ├─ NotAuthorized            the collector refuses the API key
   ├─ NotFound                 there is no such run, event or content
   ├─ Conflict                 the collector cannot do this now: another process has the run, or something is not set up
   │  └─ ConversationConflict  another writer has saved the conversation since it was read
   └─ BadRequest               the collector refuses the request as invalid

Suspended                      a SystemExit: the process ends, since the run waits for a person's answer
"""

from collections.abc import Iterator
from typing import Any, cast

from playhead.model.objects.interrupts import ProgramEnd


class PlayheadError(Exception):
    """Everything we raise on purpose; `str(error)` is for the user to read."""


class SettingInvalid(PlayheadError):
    """A setting has a value that cannot be used."""


class JournalUnusable(PlayheadError):
    """The journal's folder cannot be used."""


class NotFaithful(PlayheadError):
    """A value cannot be recorded so that it can be restored; the message says why."""


class CannotRestore(PlayheadError):
    """A recorded value cannot be restored with its type; the message says why."""


class Denied(PlayheadError):
    """A person has refused what the program wanted to do; the message says who and why."""


class Unanswered(PlayheadError):
    """Nobody has answered in time."""


class MaxTurnsExceeded(PlayheadError):
    """An agent has made as many model calls as it may, and is not done."""


class OutputInvalid(PlayheadError):
    """A model's answer is not of the type that was asked for, also when it was asked again; the message says why."""


class ToolArgumentsInvalid(PlayheadError):
    """A model's arguments for a tool do not fit the tool's parameters. The model is given the message."""


class ReplayError(PlayheadError):
    """This run cannot be resumed or forked as asked."""


class NoRecord(ReplayError):
    """No record of the run was found."""


class RunAlive(ReplayError):
    """Another process runs or resumes the run, or has records of it that have not arrived."""


class ToolDenied(ReplayError):
    """A what-if run may not execute this tool."""


class UnrecordedTools(ReplayError):
    """Tools that a model asked for were executed outside the record; continuing the run would execute them again."""


class RunStopped(ReplayError):
    """The run is paused until a person decides. Its calls stay open, and a later resume continues it."""

    EXIT_CODE = (
        76  # of `playhead resume` and `playhead fork`; EX_PROTOCOL of sysexits.h, which no other program uses for this
    )


def is_run_stopped(raised: BaseException) -> bool:
    """Whether the error is a RunStopped or Suspended, or was raised from one (by a framework, or as an error group)."""
    return any(isinstance(error, RunStopped | Suspended) for error in _chain(raised, set()))


def _chain(raised: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yields the error, its causes, and the errors in groups among these."""
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        yield raised
        if isinstance(raised, BaseExceptionGroup):
            for inner in cast("BaseExceptionGroup[BaseException]", raised).exceptions:
                yield from _chain(inner, seen)
        raised = raised.__cause__ or raised.__context__


class ReplayDiverged(RunStopped):
    """The program makes another call than the record has."""


class Interrupted(RunStopped):
    """A person asked the run to stop; a later resume continues it."""


class RunTakenOver(RunStopped):
    """Another process continues the run; this process executes and records nothing more of it."""


class MaskedContent(RunStopped):
    """A part of what is needed of the record was masked by the redaction rules of its project at the collector, so it
    is given neither to the program nor to a model."""


class InDoubt(RunStopped):
    """It is unknown whether a call took effect, or what it returned; running it again may have the effect twice."""


class ClientError(PlayheadError):
    """A request to the collector failed. `code`: the collector's error code, if it has answered."""

    def __init__(self, message: str = "", code: str | None = None):
        super().__init__(message)
        self.code = code


class CollectorUnreachable(ClientError):
    """No answer from the collector's address."""


class NotAuthorized(ClientError):
    """The collector refuses the API key."""


class NotFound(ClientError):
    """There is no such run, event or content."""


class Conflict(ClientError):
    """The collector cannot do this now: another process has the run, or something is not set up. The message says
    which."""


class ConversationConflict(Conflict):
    """Another writer has saved the conversation since this one read it, or has taken the id of a new one. Nothing is
    lost: the messages that were not saved are still in the object, and `reload()` puts them after the other's.

    `result`: of an agent's run whose messages could not be saved, what it returns otherwise; else None."""

    result: Any = None


class BadRequest(ClientError):
    """The collector refuses the request as invalid."""


class Suspended(ProgramEnd):
    """The run waits for a person's answer, and its process ends; a later resume continues the run.

    A SystemExit, so that neither a program nor a framework takes it for an error of a tool. `promise` is the id of the
    promise that the run waits for.
    """

    EXIT_CODE = 75  # EX_TEMPFAIL of sysexits.h: try again later

    def __init__(self, message: str, promise: str):
        super().__init__(self.EXIT_CODE)
        self.message = message
        self.promise = promise

    def __str__(self) -> str:
        """Returns the message: what the run waits for, and what to do."""
        return self.message
