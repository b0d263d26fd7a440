"""`playhead.approval`, `ask`, `wait_for` and `interrupt`: waits for people and for events from outside, and requests to
stop a run.

They also have asynchronous versions, except `interrupt`, which does not wait. A tool that needs approval, by its own
rule (`@observe(kind="tool", approval=...)`) or by the process's (`configure(approval=...)`), runs only after a person
has approved.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from playhead.api.promises.store import promise_store
from playhead.api.promises.waiting import OnReminder, Question, shown_prompt, wait
from playhead.calls.steps import Steps, run_steps, run_steps_async
from playhead.errors import Denied, NoRecord, SettingInvalid, Unanswered
from playhead.kernel.guard import warn_once
from playhead.model import promises as p
from playhead.model.ids import WHOLE_ID
from playhead.model.times import rfc3339

if TYPE_CHECKING:
    from playhead.wire.operations.promises import Promise, PromiseAnswer


def approval(
    action: str,
    *,
    risk: str | None = None,
    details: object = None,
    key: str | None = None,
    timeout: float | None = None,
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> PromiseAnswer:
    """Waits until a person approves: `playhead.approval("delete 3 files", risk="high", details=paths)`.

    `playhead promises` lists open approvals; `playhead approve`, `playhead deny` and `POST /promises/{id}` answer them.
    The answer holds for this call path of the run, this action and these details: a resumed run that asks for the same
    gets it at once, one that asks for something else asks again. With a `key`, the answer holds for that key in any
    run, and may be given before it is asked for.

    `timeout`: seconds; None: no limit. `suspend`: if there is no answer yet, the process ends (exit code 75), and a
    later resume continues the run. `on_reminder` is called once with the promise after `remind_after` seconds. Raises
    Denied, and Unanswered after the timeout.
    """
    question = Question(
        kind=p.APPROVAL, action=action, risk=risk, details=details, key=key, seconds=timeout, suspend=suspend,
        remind_after=remind_after, on_reminder=on_reminder,
    )  # fmt: skip
    return run_steps(decided(question))


async def approval_async(
    action: str,
    *,
    risk: str | None = None,
    details: object = None,
    key: str | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `approval`; it has a record
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> PromiseAnswer:
    """The same as `approval`, without blocking other tasks."""
    question = Question(
        kind=p.APPROVAL, action=action, risk=risk, details=details, key=key, seconds=timeout, suspend=suspend,
        remind_after=remind_after, on_reminder=on_reminder,
    )  # fmt: skip
    return await run_steps_async(decided(question))


def ask(
    question: str,
    *,
    schema: object = None,
    details: object = None,
    timeout: float | None = None,
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> Any:
    """Waits for a person's answer, and returns it: `playhead.ask("Which branch?", schema=Reply)`.

    `schema`: a pydantic model or dataclass into which the answer is converted, or a JSON Schema as a dictionary, which
    is only shown. If the answer does not fit, the class's own error is raised. The rest is as in `approval`.
    """
    request = Question(
        kind=p.INPUT, action=question, details=details, schema=_json_schema(schema), seconds=timeout, suspend=suspend,
        remind_after=remind_after, on_reminder=on_reminder,
    )  # fmt: skip
    return run_steps(_answered_value(request, schema))


async def ask_async(
    question: str,
    *,
    schema: object = None,
    details: object = None,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `ask`
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> Any:
    """The same as `ask`, without blocking other tasks."""
    request = Question(
        kind=p.INPUT, action=question, details=details, schema=_json_schema(schema), seconds=timeout, suspend=suspend,
        remind_after=remind_after, on_reminder=on_reminder,
    )  # fmt: skip
    return await run_steps_async(_answered_value(request, schema))


def wait_for(event: str, *, key: str, timeout: float | None = None, suspend: bool = False) -> Any:
    """Waits for an event from outside, and returns its value: `playhead.wait_for("payment", key=order)`.

    `playhead answer payment VALUE --key ORDER` or `POST /promises` gives the value, even before a run waits for it. All
    runs that wait for the same event and key get the same value.
    """
    return run_steps(
        _answered_value(Question(kind=p.EVENT, name=event, key=str(key), seconds=timeout, suspend=suspend), None)
    )


async def wait_for_async(
    event: str,
    *,
    key: str,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `wait_for`
    suspend: bool = False,
) -> Any:
    """The same as `wait_for`, without blocking other tasks."""
    question = Question(kind=p.EVENT, name=event, key=str(key), seconds=timeout, suspend=suspend)
    return await run_steps_async(_answered_value(question, None))


def interrupt(run: str, *, reason: str | None = None, by: str | None = None) -> None:
    """Asks a run to stop: its next call of a model or a tool raises Interrupted, and a later resume continues it.

    `run`: the whole id of the run. Raises TypeError if it is not a text, and NoRecord if it is not an id.
    """
    if not isinstance(run, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a run is named by its id, a text, and not by {run!r}: `playhead runs` lists them")
    name, run = run, run.strip().replace("-", "").lower()
    if not WHOLE_ID.fullmatch(run):
        raise NoRecord(f"{name[:100]!r} is not the whole id of a run, which has 32 digits: `playhead runs` lists them")
    shown_reason = None if reason is None else shown_prompt(reason, None)
    promise_store().open(interrupt_of(run, shown_reason, by))


def interrupt_of(run: str, reason: str | None, by: str | None) -> Promise:
    """Makes the promise that asks a run to stop."""
    return {
        "id": os.urandom(16).hex(), "kind": p.INTERRUPT, "run": run, "key": run, "name": by, "action": reason,
        "risk": None, "details": None, "schema": None,
        "created": rfc3339(time.time_ns()), "deadline": None, "answer": None,
    }  # fmt: skip


def decided(question: Question) -> Steps[PromiseAnswer]:
    """Returns the steps that wait for an approval; the result is the answer. Raises Denied and Unanswered."""
    answer = yield from wait(question)
    if answer["outcome"] == p.EXPIRED:
        raise Unanswered(f"nobody has approved {question.action!r} within {question.seconds} seconds; ask again")
    if answer["outcome"] != p.APPROVED:
        why = f": {answer['reason']}" if answer["reason"] else ""
        raise Denied(f"{answer['by'] or 'somebody'} has denied {question.action!r}{why}; do something else")
    return answer


def _answered_value(question: Question, schema: Any) -> Steps[Any]:
    answer = yield from wait(question)
    if answer["outcome"] == p.EXPIRED:
        subject = question.action or f"{question.name} {question.key}"
        raise Unanswered(f"nobody has answered {subject!r} within {question.seconds} seconds; ask again")
    value = answer["value"]
    if hasattr(schema, "model_validate"):
        return schema.model_validate(value)
    if isinstance(schema, type) and hasattr(schema, "__dataclass_fields__"):
        return schema(**value) if isinstance(value, dict) else schema(value)
    return value


def _json_schema(schema: Any) -> Any:
    if hasattr(schema, "model_json_schema"):
        return schema.model_json_schema()
    if isinstance(schema, type) and hasattr(schema, "__dataclass_fields__"):
        properties: dict[str, Any] = {field.name: {} for field in fields(cast(Any, schema))}
        return {"title": schema.__name__, "type": "object", "properties": properties}
    return schema if isinstance(schema, dict) else None  # pyright: ignore[reportUnknownVariableType]


# --- tools that need approval -----------------------------------------------------------------------------------------

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


def checked_rule(rule: object) -> ToolRule:
    """Returns the rule. Raises SettingInvalid for an unknown one, which could let a tool run without approval."""
    if callable(rule) or (isinstance(rule, str) and rule in _WORDS):
        return cast(ToolRule, rule)
    if isinstance(rule, list | tuple | set | frozenset) and all(isinstance(name, str) for name in cast(Any, rule)):
        return frozenset(cast("Collection[str]", rule))
    raise SettingInvalid(
        f"approval={rule!r} cannot be used: give one of {', '.join(_WORDS)}, a list of tools' names, or a function of "
        "a tool's name and arguments"
    )


def rule_or_always(rule: object) -> ToolRule:
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
) -> Steps[None]:
    """Returns the steps that wait until a person approves a tool's call, if the rule asks for that. Raises Denied.

    `tool_rule`: the tool's own rule; None: the process's rule. If a rule function raises, the call needs approval.
    """
    rule = _ApprovalOfTools.rule if tool_rule is None else tool_rule
    if _needs_approval(rule, name, arguments, idempotent=idempotent):
        question = Question(
            kind=p.APPROVAL, name=name, action=f"run {name}", details=arguments, suspend=_ApprovalOfTools.suspend
        )
        _: PromiseAnswer = yield from decided(question)


def _needs_approval(rule: ToolRule, name: str, arguments: dict[str, Any], *, idempotent: bool) -> bool:
    if callable(rule):
        try:
            return bool(rule(name, arguments))
        except Exception:  # noqa: BLE001 - it is the user's code
            return True
    if isinstance(rule, str):
        return rule in ("all", "always") or (rule == "writes" and not idempotent)
    return name in rule
