"""One compression, from the policy to the report: plan, summary, fallback, hooks, record."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from playhead.context.applying import applied, summary_entry
from playhead.context.entries import FATES, Entry
from playhead.context.limits import window_of
from playhead.context.meter import TokenMeter
from playhead.context.plan import Plan, Strategy, Summariser, TokenBudget, legal
from playhead.context.policy import Compression
from playhead.context.recording import CompressionRecord, compress_step, record_compression
from playhead.context.report import CompressionReport, CompressionStart, Trigger
from playhead.context.strategies import NoCompression, name_of
from playhead.context.summaries import Asking, SummaryFailed, model_of, write_summary
from playhead.errors import ReplayError
from playhead.kernel.guard import guarded, warn_once
from playhead.model.json_value import Json
from playhead.models.apis import Api
from playhead.models.model import Model

log = logging.getLogger("playhead")

# An automatic compression is made for at least this share of the tokens.
WORTH = 0.05
# A summary of fewer tokens saves nothing.
_LEAST_SUMMARISED = 30
_ON_SERVER = (
    "the provider keeps the messages of this chat (previous_response_id), so they cannot be shortened here: send them "
    "yourself, or begin a new chat with a summary"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionWork:
    """What a compression is made of. `number`: the length of the history; `only`: of which entries some may go;
    `plan`: of a policy in the place of ours, with the name of its class; `by_turns`: shares are of the turns;
    `on_server`: the provider keeps the messages."""

    api: Api
    entries: Sequence[Entry]
    compression: Compression
    meter: TokenMeter
    limit: int | None
    model: Model | str | None
    trigger: Trigger
    number: int
    note: str | None = None
    only: Callable[[Entry], bool] | None = None
    plan: Plan | None = None
    policy_name: str | None = None
    by_turns: bool = False
    on_server: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of the context now."""
        return self.meter.tokens(_estimate(self.entries))

    def tokens_of(self, entries: Sequence[Entry]) -> int:
        """Tokens of the context with these entries."""
        return self.meter.tokens(_estimate(entries))


@dataclass(frozen=True, slots=True)
class _Result:
    """Entries after a strategy, with the plan that was carried out and the summary. `reason`: see the report."""

    entries: list[Entry]
    plan: Plan
    summary: Entry | None = None
    reason: str | None = None


def compress_entries(work: CompressionWork) -> Asking[tuple[list[Entry], CompressionReport]]:
    """Returns the entries after the compression, and what it did. Raises only RunStopped, in resumed runs."""
    if work.on_server:
        warn_once("context on server", f"a context was not compressed: {_ON_SERVER}")
        return [*work.entries], _report(work, _unchanged(work, _ON_SERVER), None)
    budget = _budget(work)
    _call(
        work.compression.before, CompressionStart(work.tokens, _target(work, budget), work.trigger, len(work.entries))
    )
    with compress_step():
        result, fallback = yield from _with_fallback(work, budget)
    report = _report(work, result, fallback)
    if report.changed:
        policy: Json = work.compression.describe() if work.policy_name is None else {"kind": work.policy_name}
        record_compression(
            CompressionRecord(work.api, work.entries, result.entries, result.plan, result.summary, report, policy)
        )
    elif report.reason is not None:
        warn_once(f"compression {report.reason}", f"a context was not compressed: {report.reason}")
    _call(work.compression.after, report)
    return result.entries, report


def not_compressed(work: CompressionWork, reason: str) -> CompressionReport:
    """Returns the report of a compression that was not made."""
    return _report(work, _unchanged(work, reason), None)


def _budget(work: CompressionWork) -> TokenBudget:
    meter, compression = work.meter, work.compression
    limit, due_at = work.limit, compression.due_at(work.limit)
    budget = compression.budget(
        work.entries,
        None if limit is None else meter.as_estimate(limit),
        fixed=meter.as_estimate(meter.fixed),
        due_at=None if due_at is None else meter.as_estimate(due_at),
        by_turns=work.by_turns,
    )
    if work.only is None:
        return budget
    stay = {index for index, entry in enumerate(work.entries) if not _allows(work.only, entry)}
    return replace(budget, protected=budget.protected | stay)


def _allows(only: Callable[[Entry], bool], entry: Entry) -> bool:
    """Whether the caller's function lets this entry go; False if it raises."""
    with guarded("ask whether a message may be compressed"):
        return bool(only(entry))
    return False


def _target(work: CompressionWork, budget: TokenBudget) -> int | None:
    return None if budget.target is None else round(budget.target * work.meter.factor)


# --- strategies -------------------------------------------------------------------------------------------------------


def _with_fallback(work: CompressionWork, budget: TokenBudget) -> Asking[tuple[_Result, str | None]]:
    """Carries out the strategy, and the fallback if it failed or left too much. Returns the result, and why the
    fallback was used."""
    if isinstance(work.compression.strategy, NoCompression):
        return _unchanged(work, "its strategy is NoCompression"), None
    try:
        result = yield from _carry_out(work, budget, work.compression.strategy, work.plan)
        why = _overflow(work, result)
    except ReplayError:  # the resumed run stops here
        raise
    except SummaryFailed as error:
        result, why = None, str(error)
        log.warning("a context could not be compressed by %s: %s", name_of(work.compression.strategy), why)
    except Exception as error:
        log.warning("a context could not be compressed by %s", name_of(work.compression.strategy), exc_info=True)
        result, why = None, f"{type(error).__name__}: {error}"
    fallback = work.compression.fallback
    if why is None and result is not None:
        return result, None
    if fallback is None:
        return result or _unchanged(work, f"the strategy failed, and there is no fallback: {why}"), None
    second = yield from _fallback(work, budget, fallback)
    if second is None or (result is not None and _estimate(second.entries) >= _estimate(result.entries)):
        return replace(result or _unchanged(work, None), reason=why), None
    return second, why


def _fallback(work: CompressionWork, budget: TokenBudget, fallback: Strategy) -> Asking[_Result | None]:
    try:
        return (yield from _carry_out(work, budget, fallback, None))
    except ReplayError:
        raise
    except Exception:
        log.warning("a context could not be compressed by its fallback %s", name_of(fallback), exc_info=True)
        return None


def _carry_out(work: CompressionWork, budget: TokenBudget, strategy: Strategy, plan: Plan | None) -> Asking[_Result]:
    entries, in_system = work.entries, work.compression.summary_in == "system"
    plan = legal(plan or strategy.plan(entries, budget), entries, budget.protected, has_summary_message=not in_system)
    old = [entries[index] for index in plan.indexes("summarise")]
    summary: Entry | None = None
    least = max(_LEAST_SUMMARISED, WORTH * budget.now if work.trigger == "threshold" else 0)
    if old and _estimate(old) < least:
        return _unchanged(work, f"what could be summarised has {_estimate(old)} tokens only")
    if old:
        summariser = plan.summariser or Summariser()
        model = model_of(summariser, work.model)
        text = yield from write_summary(old, summariser, model, window_of(model.name))
        summary = summary_entry(text, work.api, work.number, in_system=in_system)
        summary.tokens = work.compression.tokens_of(summary)
        if summary.tokens >= _estimate(old):
            raise SummaryFailed(f"the summary of {_estimate(old)} tokens has {summary.tokens}: it saves nothing")
    left = applied(entries, plan, work.api, summary)
    for entry in left:
        if entry.kind == "masked":
            entry.tokens = work.compression.tokens_of(entry)
    return _Result(left, plan, summary, plan.reason)


def _overflow(work: CompressionWork, result: _Result) -> str | None:
    """Returns why the result is too large for the model; None if it fits."""
    left = work.tokens_of(result.entries)
    if work.limit is None or left <= work.limit:
        return None
    return f"{left} tokens are left, more than the limit of {work.limit}"


# --- results ----------------------------------------------------------------------------------------------------------


def _unchanged(work: CompressionWork, reason: str | None) -> _Result:
    return _Result([*work.entries], Plan.keeping(work.entries), reason=reason)


def _report(work: CompressionWork, result: _Result, fallback: str | None) -> CompressionReport:
    counts = {fate: result.plan.fates.count(fate) for fate in FATES}
    strategy = work.compression.fallback if fallback is not None else work.compression.strategy
    after = work.tokens_of(result.entries)
    name = "policy" if work.plan is not None and fallback is None else name_of(strategy or work.compression.strategy)
    return CompressionReport(
        trigger=work.trigger,
        strategy=name,
        messages_before=len(work.entries),
        messages_after=len(result.entries),
        tokens_before=work.tokens,
        tokens_after=after,
        kept=counts["keep"],
        summarised=counts["summarise"],
        masked=counts["mask"],
        dropped=counts["drop"],
        preserved=sum(entry.preserve for entry in work.entries),
        note=work.note,
        fallback=fallback,
        reason=_reason(work, result, after) if result.plan.changes else _unchanged_since(work, result, name, fallback),
        summary=result.summary.text if result.summary is not None else None,
    )


def _reason(work: CompressionWork, result: _Result, after: int) -> str | None:
    """Why the context is not as small as it should be, or None."""
    due_at = work.compression.due_at(work.limit)
    if due_at is None or after < due_at:
        return None
    stays = _what_stays(work)
    return f"{after} tokens are left, and {due_at} make a compression due{'' if stays is None else f': {stays}'}"


def _unchanged_since(work: CompressionWork, result: _Result, name: str, fallback: str | None) -> str:
    """Why the context is as it was. `name`: of the strategy; `fallback`: why it is the fallback."""
    if reason := result.reason or _what_stays(work):
        return reason
    if len(_budget(work).protected) == len(work.entries):
        return "nothing may be removed"
    return f"{name} keeps all of it{'' if fallback is None else f', after {fallback}'}"


def _what_stays(work: CompressionWork) -> str | None:
    preserved = [entry for entry in work.entries if entry.preserve]
    if not preserved or work.limit is None:
        return None
    tokens = work.meter.factor * _estimate(preserved)
    due_at = work.compression.due_at(work.limit) or work.limit
    return f"preserved messages alone have {tokens:.0f} tokens" if tokens >= due_at else None


def _estimate(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)


def _call(hook: Callable[..., object] | None, value: object) -> None:
    if hook is not None:
        with guarded("call the hook of a compression"):
            hook(value)
