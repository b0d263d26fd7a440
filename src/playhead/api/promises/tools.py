"""Tools that run only after a person has approved: `@observe(kind="tool", approval=...)`, `configure(approval=...)`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from playhead.api.promises.asking import decided
from playhead.api.promises.waiting import Question
from playhead.calls.steps import Waiting
from playhead.errors import SettingInvalid
from playhead.kernel.guard import warn_once
from playhead.model import promises as p

if TYPE_CHECKING:
    from playhead.wire.operations.promises import PromiseAnswer

_Word = Literal["none", "all", "always", "writes"]
ToolRule = _Word | list[str] | tuple[str, ...] | set[str] | frozenset[str] | Callable[[str, dict[str, Any]], Any]
"""Which tools need approval: `none`, `all` (for one tool: `always`), `writes` (tools not declared idempotent), names of
tools, or a function of the tool's name and arguments."""
_WORDS = get_args(_Word)


class _ApprovalOfTools:
    rule: ToolRule = "none"
    suspend = False


def approve_tools(rule: ToolRule | None, *, suspend: bool = False) -> None:
    """Sets which tools of this process need approval; None: no tool does."""
    _ApprovalOfTools.rule = "none" if rule is None else checked_rule(rule)
    _ApprovalOfTools.suspend = suspend


def checked_rule(rule: Any) -> ToolRule:
    """Returns the rule. Raises SettingInvalid for an unknown one, which could let a tool run without approval."""
    if callable(rule) or (isinstance(rule, str) and rule in _WORDS):
        return cast(ToolRule, rule)
    if isinstance(rule, list | tuple | set | frozenset) and all(isinstance(name, str) for name in cast(Any, rule)):
        return frozenset(cast("Collection[str]", rule))
    raise SettingInvalid(
        f"approval={rule!r} cannot be used: give one of {', '.join(_WORDS)}, a list of tools' names, or a function of "
        "a tool's name and arguments"
    )


def rule_or_always(rule: Any) -> ToolRule:
    """Returns the rule. For an invalid one warns once and returns `always`: a typing error must not let a tool run."""
    try:
        return checked_rule(rule)
    except SettingInvalid as error:
        warn_once(f"approval {rule!r}", f"{error}; until then, the tool always needs approval")
        return "always"


def needs_rule(tool_rule: ToolRule | None) -> bool:
    """Whether the tool may need approval, by its own rule (None: it has none) or the process's."""
    return tool_rule is not None or _ApprovalOfTools.rule != "none"


def approved_first(
    tool_rule: ToolRule | None, name: str, arguments: dict[str, Any], *, idempotent: bool
) -> Waiting[None]:
    """Returns the steps that wait until a person approves a tool's call, if the rule asks for that. Raises Denied.

    `tool_rule`: the tool's own rule; None: the process's rule. If a rule function raises, the call needs approval.
    """
    rule = _ApprovalOfTools.rule if tool_rule is None else tool_rule
    if _applies(rule, name, arguments, idempotent=idempotent):
        question = Question(
            kind=p.APPROVAL, name=name, action=f"run {name}", details=arguments, suspend=_ApprovalOfTools.suspend
        )
        _: PromiseAnswer = yield from decided(question)


def _applies(rule: ToolRule, name: str, arguments: dict[str, Any], *, idempotent: bool) -> bool:
    if callable(rule):
        try:
            return bool(rule(name, arguments))
        except Exception:  # noqa: BLE001 - it is the user's code
            return True
    if isinstance(rule, str):
        return rule in ("all", "always") or (rule == "writes" and not idempotent)
    return name in rule
