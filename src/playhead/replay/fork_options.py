"""What a fork was asked for, as its record has it: whoever resumes it, in any process, goes on with the same fork.

The root of the fork carries the options and the outcome, and is written before the fork's first call.  What the options
say holds for the calls that the fork shares with its parent.  Its own calls are those of any run that is resumed: they
are answered, and what is in doubt stops it, unless the resume says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast, get_args

import orjson

from playhead.api.calls.span import ObservedSpan
from playhead.errors import CannotRestore, ReplayError
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.refs.faithful import decode
from playhead.replay.policy import Completed, Live, OnDivergence, OnDoubt, Policy, Tools, Unrecorded
from playhead.replay.record import Record

_FUNCTION, _OUTCOME = "function", "outcome"
_NOT_RECORDED = "content is not recorded (PLAYHEAD_CAPTURE_CONTENT)"
_OF_ANY_RUN = ("raise", "live", "reuse", "rerun", _FUNCTION)


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """What `resume` was asked for.  None: nothing was said, so what the fork was made with holds, else the default."""

    on_divergence: OnDivergence | None = None
    completed: Completed | None = None
    in_doubt: OnDoubt | None = None
    renamed: Mapping[str, str] | None = None
    new: Sequence[str] | None = None
    live: Live | None = None
    tools: Tools | None = None
    unrecorded: Unrecorded | None = None
    outcomes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    branch_wait_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """Options of a fork.  "function": it was a function of the program, which no record can have."""

    live: Live
    tools: str
    on_divergence: str
    completed: Completed
    in_doubt: str
    renamed: Mapping[str, str]
    new: Sequence[str]
    outcome: str = ""
    """Empty: none was given.  Else "recorded", or why it could not be recorded."""

    @classmethod
    def of(cls, policy: Policy, live: Live) -> Self:
        """Those of a fork that is made with this policy."""
        return cls(
            live,
            _word(policy.tools),
            _word(policy.on_divergence),
            policy.completed,
            _word(policy.in_doubt),
            dict(policy.renamed),
            sorted(policy.new),
        )

    def to_attribute(self) -> str:
        """JSON, for the root's attribute."""
        said = {name: getattr(self, name) for name in self.__slots__}
        return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_attribute(cls, text: str) -> Self:
        """Raises ReplayError for what `to_attribute` has not written: nothing is guessed of what may be executed."""
        try:
            said = orjson.loads(text)
            known = cls(**said)
            is_known = known.live in get_args(Live) and known.tools in ("live", "deny", _FUNCTION)
            is_known &= {known.on_divergence, known.completed, known.in_doubt}.issubset(_OF_ANY_RUN)
            if not is_known:
                raise ValueError(text)
        except (TypeError, ValueError) as error:
            raise ReplayError(
                "the options of this fork cannot be read: its record is of a newer version, or damaged. Fork its parent"
            ) from error
        return known

    def describe_root(self, root: ObservedSpan, outcome: Any) -> None:
        """Puts the options, and the outcome of the call at which the fork parts, into the attributes of its root."""
        said = self
        if outcome is not None:
            # In an object, since a text by itself is no JSON.
            kept = {_OUTCOME: outcome}
            ref, why = root.recorder.faithful(kept, root.frames, whole=True, redact=root.redact)
            if ref is not None:
                root.attributes[names.FORK_OUTCOME_REF] = ref
            said = replace(self, outcome="recorded" if ref is not None else why or _NOT_RECORDED)
        root.attributes[names.FORK_OPTIONS] = said.to_attribute()


def _word(option: Any) -> str:
    return option if isinstance(option, str) else _FUNCTION


def policy_of(given: ResumeOptions, fork: ForkOptions | None) -> Policy:
    """The policy of a run that is resumed; `fork`: what it was forked with, if it is a fork.  Raises ReplayError."""
    renamed = {**(fork.renamed if fork is not None else {}), **(given.renamed or {})}
    policy = Policy(
        given.on_divergence or "raise",
        given.in_doubt or "raise",
        _tools(given, fork),
        completed=given.completed or "raise",
        renamed=renamed,
        unrecorded=given.unrecorded,
        new=frozenset((*(fork.new if fork is not None else ()), *(given.new or ()))),
        branch_wait_seconds=given.branch_wait_seconds,
        outcomes=dict(given.outcomes),
    )
    if fork is not None:
        policy.shared = replace(
            policy,
            on_divergence=given.on_divergence or cast(OnDivergence, _known(fork.on_divergence)),
            in_doubt=given.in_doubt or cast(OnDoubt, _known(fork.in_doubt)),
            completed=given.completed or fork.completed,
        )
    return policy


def _known(option: str) -> str:
    """A function that nobody can call any more: the run stops and asks, where it would have been called."""
    return "raise" if option == _FUNCTION else option


def _tools(given: ResumeOptions, fork: ForkOptions | None) -> Tools:
    live = given.live or (fork.live if fork is not None else "all")
    if live == "all":
        if given.tools is not None:
            raise ReplayError(f"tools={given.tools!r} is for live='llm', and with live='all' tools are executed")
        return "live"
    if given.tools is None and fork is not None and fork.tools == _FUNCTION:
        raise ReplayError(
            "this fork answered its tools with a function, which no record can have: give it again, "
            "resume(..., tools=function); or deny tools that the record cannot answer, tools='deny' (--tools deny)"
        )
    return given.tools or "deny"


def fork_options(run_id: str, record: Record) -> ForkOptions | None:
    """Those that the fork's record has; None: it has none.  Raises ReplayError."""
    own = (span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id)
    text = next((attributes[names.FORK_OPTIONS] for attributes in own if names.FORK_OPTIONS in attributes), None)
    return None if text is None else ForkOptions.from_attribute(str(text))


def recorded_outcome(run_id: str, record: Record, options: ForkOptions) -> Any:
    """The outcome that the fork was given.  Raises CannotRestore."""
    if options.outcome != "recorded":
        raise CannotRestore(options.outcome)
    own = (span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id)
    ref = next((attributes[names.FORK_OUTCOME_REF] for attributes in own if names.FORK_OUTCOME_REF in attributes), None)
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    if content is None:
        raise CannotRestore("it is not at hand")
    try:
        return decode(parse_json(content.data))[_OUTCOME]
    except (TypeError, ValueError, KeyError) as error:
        raise CannotRestore("it is damaged in the record") from error


def no_options_error(run_id: str) -> ReplayError:
    """Of a fork whose record does not say what it may execute."""
    return ReplayError(
        f"run {run_id} is a fork, and its record does not say what it was asked for (it is of an earlier version): say "
        "live='all' (--live all: tools are executed) or live='llm' (they are not), and with outcomes what comes of the "
        "call at which it parts; or fork its parent again"
    )


def lost_outcome_error(name: str, why: str) -> ReplayError:
    """Of a fork whose record does not have the outcome that it has yet to give."""
    return ReplayError(
        f"what comes of {name} in this fork is not in its record ({why}): give it again, "
        f"outcomes={{{name!r}: ...}} (--outcome {name}=...), or fork its parent again"
    )
