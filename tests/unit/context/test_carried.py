"""A context that is made anew of a framework's messages at each call does what one that lives on does."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.context import Chain, ClearToolResults, Compression, Context, Hybrid, Keep, LlmSummary, SlidingWindow
from playhead.context.carried import CarriedContext, CarriedMessage
from playhead.context.meter import TokenMeter
from playhead.model.json_value import Json
from playhead.model.token_estimates import estimate_message
from playhead.models import MockModel, ModelRequest
from playhead.models.apis import CHAT
from tests.support.managed_contexts import assistant_calls, conversations

DEFINITIONS = 120  # tokens that no message has


@dataclass(frozen=True)
class Kept:
    """What a framework keeps of a message."""

    native: Json
    input_tokens: int | None = None
    memo: Json | None = None


def counted(natives: list[Json]) -> int:
    """What the provider reports."""
    return DEFINITIONS + round(1.3 * sum(estimate_message(CHAT.to_message(native)) for native in natives))


def natives_of(steps: list[tuple[str, Any]]) -> list[Json]:
    natives: list[Json] = []
    for number, (kind, value) in enumerate(steps):
        if kind != "calls":
            natives.append({"role": kind, "content": value})
            continue
        ids = [f"c{number}-{place}" for place in range(len(value))]
        natives += assistant_calls("chat", ids, [argument for argument, _ in value])
        natives += [
            {"role": "tool", "tool_call_id": call, "content": result}
            for call, (_, result) in zip(ids, value, strict=True)
        ]
    return natives


def by_framework(kept: list[Kept], policy: Compression) -> list[Kept]:
    """One model call of an agent whose framework keeps its messages."""
    carried = [CarriedMessage(one.native, one, one.input_tokens, memo=one.memo) for one in kept]
    left = CarriedContext(carried, policy, None).compressed()
    if left is None:
        return kept
    messages: list[Kept] = []
    for one in left.messages:
        if one.source is None:
            messages.append(Kept({"role": one.role, "content": one.text}))
        elif one.text is None:
            messages.append(one.source)
        else:
            messages.append(replace(one.source, native={**one.source.native, "content": one.text}))
    return [*messages[:-1], replace(messages[-1], memo=left.memo)]


def by_rule(request: ModelRequest) -> str:
    return f"The customer said {len(str(request.messages[1]))} characters."


STRATEGIES: Any = {
    "summary": lambda: LlmSummary(model=MockModel(by_rule)),
    "window": lambda: SlidingWindow(6),
    "clear": lambda: ClearToolResults(keep=1),
    "hybrid": lambda: Hybrid(window=4, summarise_every=3, model=MockModel(by_rule)),
    "chain": lambda: Chain(ClearToolResults(keep=1), LlmSummary(model=MockModel(by_rule))),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(steps=conversations(), in_system=st.booleans())
def test_it_compresses_where_a_context_that_lives_on_does(strategy: str, steps: Any, in_system: bool):
    policy = Compression(
        limit=700,
        keep=Keep(share=0.3),
        strategy=STRATEGIES[strategy](),
        summary_in="system" if in_system else "message",
    )
    context = Context(compression=policy)
    kept: list[Kept] = []
    for native in natives_of(steps):
        tokens = None
        if native["role"] == "assistant":  # the model is asked before
            sent = context.for_model()
            kept = by_framework(kept, policy)
            assert [one.native for one in kept] == sent
            tokens = counted(sent)
            context.reported(tokens)
        context.raw.add(native)
        kept.append(Kept(native, tokens))


def test_reports_about_messages_that_are_gone_are_not_counted():
    """The kept answer says how many tokens there were before the compression: much more than now."""
    words = "word " * 100
    natives: list[Json] = [
        {"role": ("user", "assistant")[number % 2], "content": f"{number} {words}"} for number in range(6)
    ]
    kept = [Kept(native) for native in natives]
    policy = Compression(limit=900, keep=Keep(messages=3), strategy=LlmSummary(model=MockModel("Little was said.")))
    kept[5] = replace(kept[5], input_tokens=counted([one.native for one in kept[:5]]))
    kept.append(Kept({"role": "user", "content": "and now?"}))
    shorter = by_framework(kept, policy)
    assert len(shorter) == 4
    assert shorter[2].input_tokens is not None
    more = [*shorter, Kept({"role": "assistant", "content": "fine"}), Kept({"role": "user", "content": "more?"})]
    assert by_framework(more, policy) is more


def test_an_attempt_that_failed_is_not_made_again_at_each_call():
    asked: list[ModelRequest] = []

    def broken(request: ModelRequest) -> str:
        asked.append(request)
        raise ConnectionError("the model is gone")

    policy = Compression(limit=500, strategy=LlmSummary(model=MockModel(broken)), fallback=None)
    kept = [Kept({"role": ("user", "assistant")[number % 2], "content": "word " * 80}) for number in range(7)]
    once = by_framework(kept, policy)
    assert [one.native for one in once] == [one.native for one in kept]
    assert by_framework(once, policy) is once
    assert len(asked) == 1


def test_a_meter_comes_back_from_json():
    meter = TokenMeter()
    meter.reported(100, 350)
    meter.reported(400, 780)
    same = TokenMeter.from_json(meter.to_json())
    assert (same.factor, same.fixed) == (meter.factor, meter.fixed)
    assert [same.tokens(estimate) for estimate in (50, 400, 900)] == [meter.tokens(each) for each in (50, 400, 900)]
    same.reported(700, 1_400)
    meter.reported(700, 1_400)
    assert (same.factor, same.fixed) == (meter.factor, meter.fixed)


@pytest.mark.parametrize("value", [{}, {"factor": "x", "fixed": None, "last": [1]}, {"factor": 1e9, "fixed": -3}])
def test_a_meter_of_anything_is_a_meter(value: Any):
    assert TokenMeter.from_json(value).tokens(100) in (100, 400)
