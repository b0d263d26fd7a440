"""[analysis]: rules that score a run: checks of what is recorded, declared as JSON. Pure.

    {"fails_if": [{"tool_error": "last"}, {"says_it_could_not": true}], "passes_if": [{"tool_called": "refund_order"}]}

The value is true if all checks of `passes_if` hold and none of `fails_if` does. With `"value": "share"` it is the share
of the checks that are as they should be.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from playhead.model.canonical import text_of
from playhead.model.json_value import is_list, is_object
from playhead.model.scored_run import GivenScore, ScoredRun, ScoredToolCall
from playhead.wire.operations.why import Strength
from playhead_collector.analysis.suspects.wording import INABILITY
from playhead_collector.analysis.transcript.failures import failure_text
from playhead_collector.store.ports.outcomes import LEVELS

_MAX_CHECKS: Final = 50
_MAX_PATTERN: Final = 1_000
_MAX_SCHEMA: Final = 20_000
_MAX_COMMENT: Final = 1_000


class BadRule(ValueError):
    """The JSON is no rule; the message says where and why."""


class NotKnown(ValueError):
    """What a check is about is not stored, so that nobody can say whether it holds."""


@dataclass(frozen=True, slots=True)
class FoundSuspect:
    """A suspected step of the run: the names of the rules that speak against it, and how strong the strongest is."""

    rules: tuple[str, ...]
    strength: Strength


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """What checks look at. `suspects`: empty, unless the rule needs them."""

    run: ScoredRun
    suspects: Sequence[FoundSuspect] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a rule: its name and its argument; `wanted` False: it is in a `not`."""

    name: str
    argument: Any
    wanted: bool = True

    def holds(self, evidence: CheckedRun) -> bool:
        """Whether it is so."""
        kind = _CHECKS[self.name]
        if (unknown := kind.unknown(evidence.run)) is not None:
            raise NotKnown(f"the check {self.name} cannot be made: {unknown}")
        return kind.holds(evidence, self.argument) is self.wanted

    def __str__(self) -> str:
        text = f"{self.name} {json.dumps(self.argument, ensure_ascii=False)}"
        return text if self.wanted else f"not {text}"


@dataclass(frozen=True, slots=True)
class ScoringRule:
    """A rule. `as_share`: its value is a share instead of true or false."""

    fails_if: tuple[Check, ...]
    passes_if: tuple[Check, ...]
    as_share: bool

    @property
    def needs_suspects(self) -> bool:
        """Whether it is about suspected steps, which take long to find."""
        return any(check.name == "suspect" for check in (*self.fails_if, *self.passes_if))

    def score(self, evidence: CheckedRun) -> GivenScore:
        """Returns the value, and in the comment the checks that are not as they should be. Raises NotKnown."""
        wrong = [f"{check} holds" for check in self.fails_if if check.holds(evidence)]
        wrong += [f"{check} does not hold" for check in self.passes_if if not check.holds(evidence)]
        count = len(self.fails_if) + len(self.passes_if)
        value = round((count - len(wrong)) / count, 6) if self.as_share else not wrong
        return GivenScore(value, "; ".join(wrong)[:_MAX_COMMENT] or "all checks are as they should be")


# --- reading ----------------------------------------------------------------------------------------------------------


def read_rule(value: Mapping[str, Any]) -> ScoringRule:
    """Returns the rule. Raises BadRule."""
    unknown = sorted(value.keys() - {"fails_if", "passes_if", "value"})
    if unknown:
        raise BadRule(f"{unknown[0]!r} is no part of a rule: use fails_if, passes_if and value")
    if value.get("value", "pass") not in ("pass", "share"):
        raise BadRule('value: it is either "pass" (true or false) or "share" (of the checks)')
    fails_if = tuple(_checks(value.get("fails_if", []), "fails_if"))
    passes_if = tuple(_checks(value.get("passes_if", []), "passes_if"))
    if not 0 < len(fails_if) + len(passes_if) <= _MAX_CHECKS:
        raise BadRule(f"give from 1 to {_MAX_CHECKS} checks in fails_if and passes_if")
    return ScoringRule(fails_if, passes_if, value.get("value") == "share")


def _checks(value: object, where: str) -> Iterator[Check]:
    if not is_list(value):
        raise BadRule(f'{where}: a list of checks is needed, such as [{{"tool_error": "last"}}]')
    for number, item in enumerate(value):
        yield _check(item, f"{where}[{number}]")


def _check(value: object, where: str) -> Check:
    if not is_object(value) or len(value) != 1:
        raise BadRule(f'{where}: a check is an object with one member, such as {{"tool_error": "last"}}')
    [(name, argument)] = value.items()
    if name == "not":
        inner = _check(argument, f"{where}.not")
        return Check(inner.name, inner.argument, not inner.wanted)
    kind = _CHECKS.get(name)
    if kind is None:
        raise BadRule(f"{where}: there is no check {name[:100]!r}; there are {', '.join(_CHECKS)} and not")
    if (refusal := kind.refusal(argument)) is not None:
        raise BadRule(f"{where}.{name}: {refusal}")
    return Check(name, argument)


def _no_flag(value: object) -> str | None:
    return None if value is True else 'the only argument is true; put the check into {"not": ...} for the opposite'


def _no_number(value: object) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return None if is_number else "a number of 0 or more is needed"


def _no_name(value: object) -> str | None:
    return None if isinstance(value, str) and 0 < len(value) <= 300 else "a name is needed"


def _no_pattern(value: object) -> str | None:
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_PATTERN:
        return f"a regular expression of up to {_MAX_PATTERN} characters is needed"
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"this is no regular expression of Python: {error}"
    return None


def _no_schema(value: object) -> str | None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - few rules have a schema
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    if not isinstance(value, dict) or len(json.dumps(value)) > _MAX_SCHEMA:
        return f"a JSON schema of up to {_MAX_SCHEMA} characters is needed"
    try:
        Draft202012Validator.check_schema(cast(dict[str, Any], value))
    except SchemaError as error:
        return f"this is no JSON schema: {error.message[:200]}"
    return None


# --- checks -----------------------------------------------------------------------------------------------------------


def _tool_error(evidence: CheckedRun, which: str) -> bool:
    calls = evidence.run.tool_calls
    return any(map(_has_failed, calls[-1:] if which == "last" else calls))


def _has_failed(call: ScoredToolCall) -> bool:
    """Whether a tool raised, or its result reports an error."""
    if call.status == "failed" or call.error is not None:
        return True
    return call.result is not None and failure_text(text_of(call.result)) is not None


def _is_suspected(evidence: CheckedRun, wanted: str) -> bool:
    """`wanted`: the least strength, or the name of a rule of suspects."""
    least = {str(strength): level for strength, level in LEVELS.items()}.get(wanted)
    if least is not None:
        return any(LEVELS[found.strength] >= least for found in evidence.suspects)
    return any(wanted in found.rules for found in evidence.suspects)


def _is_empty(evidence: CheckedRun, _: object) -> bool:
    run = evidence.run
    return not run.output_text.strip() and _unread_output(run) is None


def _matches(evidence: CheckedRun, pattern: str) -> bool:
    return re.search(pattern, evidence.run.output_text) is not None


def _fits_schema(evidence: CheckedRun, schema: dict[str, Any]) -> bool:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - few rules have a schema
    from referencing import Registry  # noqa: PLC0415

    value = evidence.run.output
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    # The empty registry: a schema that names another one at an address is not fetched.
    validator: Any = Draft202012Validator(schema, registry=Registry())
    return bool(validator.is_valid(value))


def _says_it_could_not(evidence: CheckedRun, _: object) -> bool:
    return INABILITY.search(evidence.run.output_text) is not None


def _calls_tool(evidence: CheckedRun, name: str) -> bool:
    return any(call.name == name for call in evidence.run.tool_calls)


def _above(number_of: Callable[[ScoredRun], float | None]) -> Callable[[CheckedRun, float], bool]:
    """Returns a check that a number of the run is above its argument; one that is not known is not."""

    def holds(evidence: CheckedRun, limit: float) -> bool:
        number = number_of(evidence.run)
        return number is not None and number > limit

    return holds


# --- what is not known: a content that has not arrived, was deleted, or went with a tier of retention -----------------


def _nothing(_: ScoredRun) -> str | None:
    return None


def _unread_output(run: ScoredRun) -> str | None:
    return next((line for line in run.cut if line.startswith("output is ")), None)


def _unstored_output(run: ScoredRun) -> str | None:
    """What is too long is not empty."""
    line = _unread_output(run)
    return line if line is not None and "not stored" in line else None


def _unstored_result(run: ScoredRun) -> str | None:
    return next((line for line in run.cut if line.startswith("the result of ") and "not stored" in line), None)


_Refusal: TypeAlias = Callable[[object], str | None]


@dataclass(frozen=True, slots=True)
class _CheckKind:
    """What a check's argument has to be, whether the check holds, and what it needs and is not known."""

    refusal: _Refusal
    holds: Callable[[CheckedRun, Any], bool]
    unknown: Callable[[ScoredRun], str | None] = _nothing


def _one_of(*words: str) -> _Refusal:
    return lambda value: None if value in words else f"one of {', '.join(words)} is needed"


_CHECKS: Final[Mapping[str, _CheckKind]] = MappingProxyType(
    {
        "tool_error": _CheckKind(_one_of("last", "any"), _tool_error, _unstored_result),
        "tool_called": _CheckKind(_no_name, _calls_tool),
        "suspect": _CheckKind(_no_name, _is_suspected),
        "status": _CheckKind(
            _one_of("completed", "failed", "cancelled"), lambda evidence, status: evidence.run.status == status
        ),
        "output_empty": _CheckKind(_no_flag, _is_empty, _unstored_output),
        "output_matches": _CheckKind(_no_pattern, _matches, _unread_output),
        "output_schema": _CheckKind(_no_schema, _fits_schema, _unread_output),
        "says_it_could_not": _CheckKind(_no_flag, _says_it_could_not, _unread_output),
        "errors_above": _CheckKind(_no_number, _above(lambda run: run.errors)),
        "model_calls_above": _CheckKind(_no_number, _above(lambda run: run.llm_calls)),
        "tool_calls_above": _CheckKind(_no_number, _above(lambda run: len(run.tool_calls))),
        "tokens_above": _CheckKind(_no_number, _above(lambda run: run.input_tokens + run.output_tokens)),
        "cost_above": _CheckKind(_no_number, _above(lambda run: run.cost)),
        "seconds_above": _CheckKind(_no_number, _above(lambda run: run.elapsed_s)),
    }
)
CHECK_NAMES: Final = tuple(_CHECKS)
