"""A managed context, as a program uses it."""

import asyncio
import threading
from typing import Any
from unittest.mock import Mock

import openai
import pytest

import playhead
from playhead.context import (
    Chain,
    ClearToolResults,
    Compression,
    CompressionReport,
    CompressionStart,
    Context,
    Hybrid,
    Keep,
    LlmSummary,
    NoCompression,
    Plan,
    SlidingWindow,
    Turns,
)
from playhead.models import MockModel
from tests.support.managed_contexts import assistant_calls, check_valid, play


def completion(text: str, prompt: int, model: str = "gpt-4o") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": prompt, "completion_tokens": 5}
    return {
        "id": "x",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


def long(count: int) -> str:
    return "word " * count


def summarising(**more: Any) -> Compression:
    return Compression(**{"limit": 1_000, "strategy": LlmSummary(model=MockModel("short")), **more})


def fill(context: Context, messages: int, words: int = 50) -> None:
    for number in range(messages):
        context.add("user" if number % 2 == 0 else "assistant", f"{number}: {long(words)}")


def test_for_model_compresses_at_the_threshold_and_not_before():
    context = Context(system="s", compression=summarising())
    fill(context, 9)
    context.for_model()
    assert context.stats.compressions == 0
    fill(context, 8)
    sent = context.for_model()
    assert context.stats.compressions == 1
    assert sent[0] == {"role": "system", "content": "s"}
    assert sent[1] == {"role": "user", "content": "Summary of the conversation so far:\n\nshort"}
    assert context.stats.tokens <= 0.3 * 1_000 + 20
    assert len(context.history) == 18


def test_the_threshold_sees_what_the_provider_reports():
    context = Context(compression=summarising())
    context.add("user", "hello")
    context.for_model()
    context.answered(completion("hi", prompt=650))
    assert (context.stats.tokens, context.stats.basis) == (650 + 4, "calibrated")
    context.add("user", long(160))
    context.for_model()
    assert context.stats.compressions == 0  # nothing before the newest message that would be worth it
    assert context.stats.ratio is not None
    assert context.stats.ratio > 0.7


def test_reported_usage_is_shown_as_such():
    context = Context(compression=summarising())
    context.add("user", "hello")
    context.for_model()
    before = context.stats
    context.answered(completion("hi", prompt=123))
    assert (before.basis, before.tokens) == ("estimated", 5)
    assert context.stats.basis == "calibrated"
    assert context.stats.tokens == 123 + 4


def test_the_window_of_the_answering_model_is_the_limit():
    context = Context()
    context.add("user", "hello")
    assert context.stats.limit is None
    context.for_model()
    context.answered(completion("hi", prompt=10))
    assert context.stats.limit == 128_000


def test_turns_make_a_compression_due_and_keep_a_share_of_them():
    policy = summarising(threshold=Turns(15, share=0.7), keep=Keep(share=0.6), limit=None)
    context = Context(compression=policy)
    for turn in range(10):
        context.add("user", f"turn {turn}")
        context.add("assistant", long(5))
    context.for_model()
    assert context.stats.compressions == 0
    context.add("user", "turn 10")
    context.for_model()
    assert context.stats.compressions == 1
    assert [entry.text for entry in context.messages if entry.text.startswith("turn")] == [
        f"turn {turn}" for turn in range(4, 11)
    ]


def test_any_of_several_thresholds_is_enough():
    context = Context(compression=summarising(threshold=[0.9, Turns(3)], keep=Keep(messages=2)))
    fill(context, 5, words=5)
    context.for_model()
    assert context.stats.compressions == 1


def test_preserved_messages_stay_by_flag_by_rule_and_by_call():
    policy = summarising(preserve=lambda entry: "```" in entry.text or "decision" in entry.tags)
    context = Context(compression=policy)
    context.add("user", "keep me", preserve=True)
    context.add("assistant", "```code```")
    context.add("user", "we take B", tags=["decision"])
    context.preserve(context.add("assistant", "noted"))
    fill(context, 16)
    report = context.compress()
    kept = [entry.text for entry in context.messages[:5]]
    assert [text for text in kept if not text.startswith("Summary")] == ["keep me", "```code```", "we take B", "noted"]
    assert report.preserved == 4
    assert [entry.text for entry in context.tagged("decision")] == ["we take B"]


def test_preserved_messages_alone_over_the_limit_are_said_and_not_tried_again_and_again():
    model = MockModel("short")
    reports: list[CompressionReport] = []
    context = Context(compression=summarising(strategy=LlmSummary(model=model), after=reports.append))
    for number in range(30):
        context.add("user", f"{number}: {long(50)}", preserve=True)
        context.add("assistant", "ok")
        context.for_model()
    assert len(context.messages) >= 30
    assert len(reports) < 20
    assert any("preserved messages alone have" in (report.reason or "") for report in reports)


def test_a_failed_summary_is_replaced_by_the_fallback(caplog: pytest.LogCaptureFixture):
    def broken(_: object) -> str:
        raise RuntimeError("overloaded")

    policy = summarising(strategy=LlmSummary(model=MockModel(broken)), fallback=SlidingWindow(4))
    context = Context(compression=policy)
    fill(context, 17)
    report = context.compress()
    assert report.fallback == "RuntimeError: overloaded"
    assert (report.strategy, report.dropped, report.summarised) == ("sliding_window", 13 - 1 + 1, 0) or report.dropped
    assert len(context.messages) <= 5
    assert "could not be compressed" in caplog.text


def test_without_a_fallback_a_failed_summary_leaves_the_context_as_it_is():
    policy = summarising(strategy=LlmSummary(model=MockModel("")), fallback=None)
    context = Context(compression=policy)
    fill(context, 17)
    report = context.compress()
    assert not report.changed
    assert "answered without text" in (report.reason or "")
    assert len(context.messages) == 17


def test_a_summary_longer_than_what_it_replaces_is_not_used():
    context = Context(compression=summarising(strategy=LlmSummary(model=MockModel(long(3_000)))))
    fill(context, 17)
    assert "it saves nothing" in (context.compress().fallback or "")


def test_hooks_get_numbers_and_what_they_raise_is_logged(caplog: pytest.LogCaptureFixture):
    seen: list[Any] = []

    def before(start: CompressionStart) -> None:
        seen.append(start)
        raise ValueError("mine")

    context = Context(compression=summarising(before=before, after=seen.append))
    fill(context, 17)
    report = context.compress()
    start, reported = seen
    assert (start.tokens, start.target, start.trigger) == (report.tokens_before, 300, "manual")
    assert reported == report
    assert report.ratio == report.tokens_after / report.tokens_before < 0.5
    assert "call the hook of a compression" in caplog.text


def test_another_strategy_once_and_for_a_phase():
    context = Context(compression=summarising())
    fill(context, 17)
    with context.using(NoCompression()):
        context.for_model()
    assert context.stats.compressions == 0
    assert context.compress(note="done", strategy=SlidingWindow(3)).strategy == "sliding_window"
    fill(context, 15)
    context.for_model()
    assert [entry.kind for entry in context.messages].count("summary") == 1


def test_a_filter_says_what_may_go():
    context = Context(compression=summarising(strategy=SlidingWindow(2)))
    fill(context, 9)
    context.compress(only=lambda entry: entry.role == "assistant")
    assert [entry.text[0] for entry in context.messages] == ["0", "2", "4", "6", "7", "8"]


def test_a_policy_of_ones_own_decides_when_and_what():
    class Newest:
        def plan(self, entries: Any, tokens: int, limit: int | None) -> Plan | None:
            assert limit == 128_000
            return Plan.giving(entries, range(len(entries) - 2), "drop") if len(entries) > 4 else None

    context = Context(compression=Newest(), model="gpt-4o")
    fill(context, 4)
    context.for_model()
    assert len(context.messages) == 4
    context.add("user", "5")
    context.for_model()
    assert len(context.messages) == 3
    assert context.stats.compressions == 1


def test_a_broken_strategy_falls_back():
    class Short:
        def plan(self, entries: Any, budget: Any) -> Plan:
            return Plan(("keep",))

    context = Context(compression=summarising(strategy=Short(), fallback=SlidingWindow(2)))
    fill(context, 9)
    assert "one for each" in (context.compress().fallback or "")


def test_a_context_that_the_provider_refuses_is_shortened():
    class BadRequest(Exception):
        code = "context_length_exceeded"

    context = Context(compression=summarising(limit=100_000, keep=Keep(messages=4)))
    fill(context, 9)
    assert not context.refused(ValueError("no such model"))
    assert context.refused(BadRequest("too long"))
    assert context.stats.compressions == 1


def test_a_chat_that_the_provider_keeps_cannot_be_shortened(caplog: pytest.LogCaptureFixture):
    context = Context(compression=summarising(), api="responses")
    fill(context, 9)
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]
    context.answered(
        {"id": "r2", "object": "response", "model": "gpt-5", "previous_response_id": "r1", "output": output}
    )
    report = context.compress()
    assert not report.changed
    assert "previous_response_id" in (report.reason or "")
    assert "cannot be shortened" in caplog.text


def test_user_boundaries_are_used_where_there_are_some():
    context = Context(compression=summarising(strategy=SlidingWindow(50), keep=Keep(messages=6), cut_at="user"))
    calls = ("calls", [("q", "r")])
    play(context, [("user", long(50)), calls, ("assistant", "b"), calls, ("user", "c"), calls])
    context.compress(strategy=LlmSummary(model=MockModel("s")))
    assert [entry.text for entry in context.messages][1] == "c"
    check_valid(context.messages)


def test_counted_tokens_are_used():
    context = Context(compression=summarising(count=lambda message: 100, limit=1_000))
    fill(context, 7, words=1)
    assert (context.stats.tokens, context.stats.basis) == (700, "counted")
    context.for_model()
    assert context.stats.compressions == 1


def test_a_summary_in_the_system_prompt_for_each_api():
    for api, expected in (("chat", 2), ("anthropic", 0), ("gemini", 0)):
        context = Context(system="s", compression=summarising(summary_in="system"), api=api)  # pyright: ignore[reportArgumentType]
        fill(context, 17)
        sent = context.for_model()
        assert len([message for message in sent if message["role"] == "system"]) == expected
        assert context.stats.checkpoints == 1
        if expected == 0:
            assert "Summary of the conversation" in str(context.system)
            assert "'s'" in str(context.system)
        assert sent[expected]["role"] == "user"


def test_raw_reads_and_adds_messages_as_the_provider_writes_them():
    context = Context(system="s", api="anthropic")
    calls = [{"type": "tool_use", "id": id_, "name": "f", "input": {}} for id_ in ("a", "b")]
    results: list[Any] = [{"type": "tool_result", "tool_use_id": id_, "content": "1"} for id_ in ("a", "b")]
    answer = {"role": "user", "content": [*results, {"type": "text", "text": "and?"}]}
    context.raw.extend([{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}, answer])
    assert context.system == "s"
    assert len(context.messages) == 6
    assert [message["role"] for message in context.raw] == ["user", "assistant", "user"]
    assert len(context.raw) == 3
    blocks = context.raw[2]["content"]
    assert isinstance(blocks, list)
    assert len(blocks) == 3


def test_two_tasks_in_one_context_are_warned_of(caplog: pytest.LogCaptureFixture):
    context = Context()
    context.add("user", "hello")
    context.for_model()
    other = threading.Thread(target=context.for_model)
    other.start()
    other.join()
    assert "give each conversation a Context of its own" in caplog.text


def test_a_coroutine_does_not_block_its_loop_while_a_summary_is_written():
    written, goes_on = threading.Event(), threading.Event()

    def slow(_: object) -> str:
        written.set()
        assert goes_on.wait(60)
        return "short"

    context = Context(compression=summarising(strategy=LlmSummary(model=MockModel(slow))))
    fill(context, 17)

    async def program() -> int:
        task = asyncio.create_task(context.for_model_async())
        while not written.is_set():
            await asyncio.sleep(0.01)
        goes_on.set()
        return len(await task)

    assert asyncio.run(program()) < 17
    assert context.stats.compressions == 1


def test_an_answer_of_another_kind_is_logged_and_not_added(caplog: pytest.LogCaptureFixture):
    context = Context()
    context.add("user", "hello")
    assert context.answered(object()) is None
    assert len(context.messages) == 1
    assert "read a model's answer" in caplog.text


@pytest.mark.parametrize(
    "make",
    [
        Keep,
        lambda: Keep(share=0.3, messages=3),
        lambda: Keep(share=1.5),
        lambda: Keep(tokens=-1),
        lambda: Turns(0),
        lambda: Turns(3, share=0),
        lambda: Compression(limit=0),
        lambda: Compression(threshold=0),
        lambda: Compression(threshold=float("nan")),
        lambda: summarising(cut_at="users"),
        lambda: summarising(summary_in="System"),
        lambda: SlidingWindow(-1),
        lambda: Hybrid(window=-1),
        lambda: Hybrid(summarise_every=0),
        lambda: ClearToolResults(keep=-1),
        lambda: LlmSummary(max_input_tokens=0),
        Chain,
        lambda: Context(api="else"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_values_that_make_no_sense_are_refused_at_once(make: Any):
    with pytest.raises(ValueError):
        make()


class StrategyOfOnesOwn:
    def plan(self, entries: Any, budget: Any) -> Plan:
        return Plan.keeping(entries)


class PolicyOfOnesOwn:
    def plan(self, entries: Any, tokens: int, limit: int | None) -> Plan | None:
        return None


A_STRATEGY: Any = StrategyOfOnesOwn()
A_POLICY: Any = PolicyOfOnesOwn()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: summarising(keep=0.3), r"Keep\(share=0.3\)"),
        (lambda: LlmSummary(keep=20), r"Keep\(messages=20\)"),  # pyright: ignore[reportArgumentType]
        (lambda: summarising(limit="1000"), "a number of tokens"),
        (lambda: summarising(threshold="0.7"), "a number, Turns"),
        (lambda: summarising(threshold=None), "a number, Turns"),
        (lambda: summarising(threshold=[0.7, "x"]), "a number, Turns"),
        (lambda: summarising(preserve=True), "a function"),
        (lambda: summarising(count=4), "a function"),
        (lambda: summarising(strategy="summary"), r"plan\(entries, budget\)"),
        (lambda: summarising(strategy=SlidingWindow), "not its class"),
        (lambda: summarising(fallback=A_POLICY), r"fallback=.*plan\(entries, budget\)"),
        (lambda: Chain(A_POLICY), r"plan\(entries, budget\)"),
        (lambda: LlmSummary(model=openai), "OpenAIModel"),  # pyright: ignore[reportArgumentType]
        (lambda: LlmSummary(prompt=None), "a text"),  # pyright: ignore[reportArgumentType]
        (lambda: Context(model=openai), "OpenAIModel"),  # pyright: ignore[reportArgumentType]
        (lambda: Context(compression="summary"), r"plan\(entries, tokens, limit\)"),  # pyright: ignore[reportArgumentType]
        (lambda: Context(compression=LlmSummary), r"plan\(entries, tokens, limit\)"),  # pyright: ignore[reportArgumentType]
        (lambda: Context(compression=A_STRATEGY), r"Compression\(strategy=...\)"),
        (lambda: playhead.Agent(model="gpt-4o", compression=A_STRATEGY), r"Compression\(strategy=...\)"),
        (lambda: Context().compress(strategy=A_POLICY), r"plan\(entries, budget\)"),
        (lambda: Context().using(A_POLICY).__enter__(), r"plan\(entries, budget\)"),
    ],
)
def test_values_of_another_type_are_refused_at_once_with_what_is_expected(make: Any, says: str):
    with pytest.raises(TypeError, match=says):
        make()


def test_strategies_and_policies_of_ones_own_are_taken_where_they_belong():
    anything: Any = Mock()
    Context(compression=PolicyOfOnesOwn())
    Context(compression=anything)
    Compression(strategy=Chain(StrategyOfOnesOwn(), anything), fallback=StrategyOfOnesOwn(), limit=10_000)
    Compression(limit=0.5 * 1_000, threshold=(0.5, Turns(3)))  # pyright: ignore[reportArgumentType]


def test_strategies_say_what_they_are():
    assert repr(Chain(SlidingWindow(3), NoCompression())) == "Chain(SlidingWindow(messages=3), NoCompression())"


def test_a_tag_that_the_policy_preserves_may_be_given_later():
    context = Context(compression=summarising(preserve=lambda entry: "decision" in entry.tags))
    entry = context.add("user", "we take B")
    fill(context, 17)
    context.tag(entry, "decision")
    report = context.compress()
    assert (report.preserved, context.messages[0].text) == (1, "we take B")


def test_what_another_policy_preserves_is_preserved_in_its_block_only():
    context = Context(compression=summarising())
    entry = context.add("user", "we take B")
    fill(context, 17)
    with context.using(summarising(preserve=lambda entry: entry.text == "we take B")):
        assert context.compress().preserved == 1
    assert entry in context.messages
    assert not entry.preserve
    fill(context, 17)
    context.compress()
    assert entry not in context.messages


def test_a_strategy_keeps_a_share_of_the_turns_where_turns_made_it_due():
    strategy = LlmSummary(model=MockModel("short"), keep=Keep(share=0.5))
    context = Context(compression=summarising(threshold=Turns(10), strategy=strategy, limit=100_000))
    for turn in range(10):
        context.add("user", f"turn {turn}")
        context.add("assistant", long(10))
    context.for_model()
    assert [entry.text for entry in context.messages if entry.text.startswith("turn")] == [
        f"turn {turn}" for turn in range(5, 10)
    ]


def test_asked_for_by_hand_a_policy_of_turns_keeps_its_share_of_them():
    policy = summarising(threshold=Turns(15, share=0.7), keep=Keep(share=0.6), limit=None)
    context = Context(compression=policy, model="gpt-4o")
    for turn in range(5):
        context.add("user", f"turn {turn}")
        context.add("assistant", long(10))
    assert context.compress("subtask done").summarised == 4
    assert context.messages[1].text == "turn 2"


def test_a_window_begins_with_a_message_of_the_user_where_the_policy_cuts_there():
    context = Context(compression=summarising(strategy=SlidingWindow(4), cut_at="user"))
    calls = ("calls", [("q", "r")])
    play(context, [("user", "a"), calls, ("assistant", "b"), ("user", "c"), calls, ("assistant", "d")])
    context.compress()
    assert context.messages[0].text == "c"
    play(context, [("user", "e"), ("assistant", "f")])
    context.compress()
    assert [entry.text for entry in context.messages] == ["e", "f"]


def test_a_policy_of_ones_own_is_also_asked_by_hand_and_has_no_fallback_of_ours():
    class Careful:
        is_due = False

        def plan(self, entries: Any, tokens: int, limit: int | None) -> Plan | None:
            return Plan.giving(entries, range(len(entries) - 2), "summarise") if self.is_due else None

    policy = Careful()
    context = Context(compression=policy, model=MockModel(""))
    fill(context, 9)
    report = context.compress("now")
    assert (report.changed, report.reason) == (False, "its policy says that nothing is to be done now")
    policy.is_due = True
    report = context.compress("now")
    assert (report.strategy, report.changed) == ("policy", False)
    assert "no fallback" in (report.reason or "")
    assert context.compress("now", strategy=SlidingWindow(3)).strategy == "sliding_window"


def test_a_summary_in_the_system_prompt_of_the_responses_api_is_an_item_behind_it():
    context = Context(system="s", compression=summarising(summary_in="system"), api="responses")
    fill(context, 17)
    first, second, third, *_ = context.for_model()
    assert (first["role"], second["role"], third["role"]) == ("system", "system", "user")
    assert "Summary of the conversation" in str(second)
    assert context.system is None


def test_a_counter_of_another_policy_counts_in_its_block_only():
    context = Context(compression=summarising())
    fill(context, 2)
    with context.using(summarising(count=lambda message: 300)):
        assert (context.stats.tokens, context.stats.basis) == (600, "counted")
        context.for_model()
        context.answered(completion("short", 1_000))
        assert context.stats.tokens == 900
    same = Context(compression=summarising())
    fill(same, 2)
    same.add("assistant", "short")
    assert (context.stats.tokens, context.stats.basis) == (same.stats.tokens, "estimated")


def test_messages_of_a_block_are_preserved_by_whom_the_context_belongs_to():
    context = Context(compression=summarising(preserve=lambda entry: "outer" in entry.text))
    with context.using(summarising(preserve=lambda entry: "inner" in entry.text)):
        entries = [context.add("user", text, preserve=text == "own") for text in ("inner", "outer", "own", "none")]
        assert [entry.preserve for entry in entries] == [True, False, True, False]
        with context.using(NoCompression()):
            entries.append(context.add("user", "inner too"))
        assert entries[-1].preserve
        entries.append(context.add("user", "inner, and marked"))
        context.preserve(entries[-1])
    assert [entry.preserve for entry in entries] == [False, True, True, False, False, True]
    context.preserve(entries[1], on=False)
    with context.using(SlidingWindow(3)):
        assert not entries[1].preserve
    assert not entries[1].preserve


def test_what_a_compression_writes_is_counted_too():
    context = Context(compression=summarising(count=lambda message: 200, keep=Keep(messages=2)))
    fill(context, 4)
    report = context.compress()
    assert [entry.tokens for entry in context.messages] == [200, 200, 200]
    assert context.stats.tokens == report.tokens_after == 600


async def test_a_second_compression_is_not_made_in_the_event_loop():
    """A strategy that never brings the context below its threshold."""
    threads: list[int] = []

    def summary(_: Any) -> str:
        threads.append(threading.get_ident())
        return "short"

    class TwoByTwo:
        def plan(self, entries: Any, budget: Any) -> Plan:
            return Plan.giving(entries, [0, 1], "summarise")

    summarised = Compression(limit=10_000, threshold=100, strategy=TwoByTwo())
    context = Context(compression=summarised, model=MockModel(summary))
    fill(context, 9, words=200)
    await context.for_model_async()
    assert len(threads) == 1
    assert threads != [threading.get_ident()]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("found", "found"),
        ({"found": True, "order": None}, '{"found":true,"order":null}'),
        ([1, 2], "[1,2]"),
        (None, "null"),
        ({1: {3}}, '{"1":"{3}"}'),
        (2**70, str(2**70)),
        ([{"type": "text", "text": "found"}], [{"type": "text", "text": "found"}]),
        ([{"type": "file", "name": "a"}], '[{"type":"file","name":"a"}]'),
    ],
)
def test_a_result_that_is_no_text_is_added_as_json_and_parts_as_they_are(result: Any, expected: Any):
    context = Context()
    play(context, [("user", "look")])
    context.raw.extend(assistant_calls("chat", ["c"], ["x"]))
    context.add("tool", result, call="c")
    assert context.for_model()[-1] == {"role": "tool", "tool_call_id": "c", "content": expected}


def test_parts_and_raw_messages_of_a_canonical_context():
    context = Context(api="canonical")
    entry = context.add("user", [{"type": "text", "content": "hello"}])
    assert entry.text == "hello"
    assert context.for_model() == [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    with pytest.raises(ValueError, match="a role and a list of parts"):
        context.raw.add({"role": "user", "content": "hello"})


def test_a_strategy_that_had_nothing_to_remove_is_named_as_the_reason():
    """And not that nothing may be removed, which is another thing."""

    def broken(_: object) -> str:
        raise RuntimeError("overloaded")

    context = Context(compression=summarising(strategy=LlmSummary(model=MockModel(broken)), keep=Keep(messages=2)))
    fill(context, 9)
    report = context.compress()
    assert (report.changed, report.fallback) == (False, "RuntimeError: overloaded")
    assert report.reason == "sliding_window keeps all of it, after RuntimeError: overloaded"
    assert context.compress(strategy=SlidingWindow(50)).reason == "sliding_window keeps all of it"
    assert Context(system="s").compress(strategy=SlidingWindow(2)).reason == "nothing may be removed"


@pytest.mark.parametrize("fate", ["summarize", "remove", None])
def test_a_fate_that_is_none_drops_nothing(fate: Any):
    class Misspelled:
        def plan(self, entries: Any, budget: Any) -> Plan:
            return Plan.giving(entries, range(5), fate)

    context = Context(compression=summarising(strategy=Misspelled(), fallback=None))
    fill(context, 9)
    report = context.compress()
    assert not report.changed
    assert f"the fate {str(fate)!r}: expected one of keep, summarise, mask, drop" in (report.reason or "")


def test_a_text_in_the_place_of_tags_is_one_tag():
    context = Context(compression=summarising(preserve=lambda entry: "decision" in entry.tags))
    assert context.add("user", "we take B", tags="decision").preserve
    context.raw.add({"role": "user", "content": "we take C"}, tags="decision")
    assert [entry.text for entry in context.tagged("decision")] == ["we take B", "we take C"]
