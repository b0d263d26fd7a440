"""Options of a fork as its record has them, so that any process that resumes it goes on with the same fork.

The root span of the fork carries the options and the outcome; it is written before the fork's first call. The options
apply to calls that the fork shares with its parent. Its own calls are treated as in any resumed run: they are answered,
and a call in doubt stops the run, unless the resume says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast, get_args

import orjson

from playhead.calls.span import ObservedSpan
from playhead.errors import CannotRestore, ReplayError
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.refs.faithful import decode
from playhead.replaying.policy import Completed, Live, OnDivergence, OnDoubt, Policy, Tools, Unrecorded
from playhead.replaying.record import Record, refuse_masked

_FUNCTION, _OUTCOME = "function", "outcome"
_NOT_RECORDED = "content is not recorded (PLAYHEAD_CAPTURE_CONTENT)"
_OF_ANY_RUN = ("raise", "live", "reuse", "rerun", _FUNCTION)


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """Options of `resume`. None: not given; then the option of the fork applies, else the default."""

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
    """Options of a fork. "function": the option was a function of the program, which cannot be recorded."""

    live: Live
    tools: str
    on_divergence: str
    completed: Completed
    in_doubt: str
    renamed: Mapping[str, str]
    new: Sequence[str]
    outcome: str = ""
    """Empty: no outcome was set. "recorded": it is recorded. Otherwise the reason why it could not be recorded."""

    @classmethod
    def of(cls, policy: Policy, live: Live) -> Self:
        """Options of a fork that is made with this policy."""
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
        """Returns the options as JSON text, for the root's attribute."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_attribute(cls, text: str) -> Self:
        """Reads the result of `to_attribute`. Raises ReplayError for any other text: what may be executed is never
        guessed."""
        try:
            fields = orjson.loads(text)
            options = cls(**fields)
            is_known = options.live in get_args(Live) and options.tools in ("live", "deny", _FUNCTION)
            is_known &= {options.on_divergence, options.completed, options.in_doubt}.issubset(_OF_ANY_RUN)
            if not is_known:
                raise ValueError(text)
        except (TypeError, ValueError) as error:
            raise ReplayError(
                "the options of this fork cannot be read: its record is of a newer version, or damaged. Fork its parent"
            ) from error
        return options

    def describe_root(self, root: ObservedSpan, outcome: object) -> None:
        """Adds the options, and the outcome of the call at which the fork parts, to the attributes of the fork's
        root."""
        options = self
        if outcome is not None:
            # In an object, since a text alone would not be stored as JSON.
            wrapped = {_OUTCOME: outcome}
            ref, why = root.recorder.restore_data_ref(wrapped, root.frames, self_contained=True, redact=root.redact)
            if ref is not None:
                root.attributes[names.FORK_OUTCOME_REF] = ref
            options = replace(self, outcome="recorded" if ref is not None else why or _NOT_RECORDED)
        root.attributes[names.FORK_OPTIONS] = options.to_attribute()


def _word(option: object) -> str:
    return option if isinstance(option, str) else _FUNCTION


def policy_of(options: ResumeOptions, fork: ForkOptions | None) -> Policy:
    """Returns the policy of a resumed run. `fork`: the recorded options if the run is a fork. Raises ReplayError."""
    renamed = {**(fork.renamed if fork is not None else {}), **(options.renamed or {})}
    policy = Policy(
        options.on_divergence or "raise",
        options.in_doubt or "raise",
        _tools(options, fork),
        completed=options.completed or "raise",
        renamed=renamed,
        unrecorded=options.unrecorded,
        new=frozenset((*(fork.new if fork is not None else ()), *(options.new or ()))),
        branch_wait_seconds=options.branch_wait_seconds,
        outcomes=dict(options.outcomes),
    )
    if fork is not None:
        policy.shared = replace(
            policy,
            on_divergence=options.on_divergence or cast(OnDivergence, _known(fork.on_divergence)),
            in_doubt=options.in_doubt or cast(OnDoubt, _known(fork.in_doubt)),
            completed=options.completed or fork.completed,
        )
    return policy


def _known(option: str) -> str:
    """Returns the option; for a function, which cannot be called any more, "raise": the run stops where it would be
    called."""
    return "raise" if option == _FUNCTION else option


def _tools(options: ResumeOptions, fork: ForkOptions | None) -> Tools:
    live = options.live or (fork.live if fork is not None else "all")
    if live == "all":
        if options.tools is not None:
            raise ReplayError(f"tools={options.tools!r} is for live='llm', and with live='all' tools are executed")
        return "live"
    if options.tools is None and fork is not None and fork.tools == _FUNCTION:
        raise ReplayError(
            "this fork answered its tools with a function, which no record can have: give it again, "
            "resume(..., tools=function); or deny tools that the record cannot answer, tools='deny' (--tools deny)"
        )
    return options.tools or "deny"


def fork_options(run_id: str, record: Record) -> ForkOptions | None:
    """Reads the options from the fork's record; None: it has none. Raises ReplayError."""
    own_attributes = (span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id)
    text = next(
        (attributes[names.FORK_OPTIONS] for attributes in own_attributes if names.FORK_OPTIONS in attributes), None
    )
    return None if text is None else ForkOptions.from_attribute(str(text))


def recorded_outcome(run_id: str, record: Record, options: ForkOptions) -> Any:
    """Reads the outcome that was set for the fork. Raises CannotRestore."""
    if options.outcome != "recorded":
        raise CannotRestore(options.outcome)
    own_attributes = (span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id)
    ref = next(
        (attributes[names.FORK_OUTCOME_REF] for attributes in own_attributes if names.FORK_OUTCOME_REF in attributes),
        None,
    )
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    if content is None:
        raise CannotRestore("it is not at hand")
    refuse_masked(content, f"the outcome that was set for the fork {run_id}", "set it again with outcomes=")
    try:
        return decode(parse_json(content.data))[_OUTCOME]
    except (TypeError, ValueError, KeyError) as error:
        raise CannotRestore("it is damaged in the record") from error


def no_options_error(run_id: str) -> ReplayError:
    """The error for a fork whose record does not say what it may execute."""
    return ReplayError(
        f"run {run_id} is a fork, and its record does not say what it was asked for (it is of an earlier version): say "
        "live='all' (--live all: tools are executed) or live='llm' (they are not), and with outcomes what comes of the "
        "call at which it parts; or fork its parent again"
    )


def lost_outcome_error(name: str, why: str) -> ReplayError:
    """The error for a fork whose record lacks the outcome that the fork has yet to return."""
    return ReplayError(
        f"what comes of {name} in this fork is not in its record ({why}): give it again, "
        f"outcomes={{{name!r}: ...}} (--outcome {name}=...), or fork its parent again"
    )
