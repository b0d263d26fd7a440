"""What a judge is asked about a run, how its answer is read, and how its calls are recorded."""

from dataclasses import replace

import pytest

from playhead.model import names
from playhead.model.scored_run import ScoredToolCall
from playhead_collector.analysis.scoring.judge import (
    JudgedTokens,
    NoVerdict,
    answer_text,
    judge_body,
    judge_messages,
    read_verdict,
    tokens_of,
)
from playhead_collector.analysis.scoring.judge_run import JudgeRun
from tests.unit.analysis.scoring.test_rules import RUN, said


def asked(prompt: str | None, run: object = RUN) -> str:
    return judge_messages(prompt, run)[1]["content"]  # pyright: ignore[reportArgumentType]


def test_the_prompt_has_the_run_where_it_names_it_and_the_rest_behind():
    text = asked("Is {output} an answer to {input}? {other}", said("yes {tool_calls}"))
    assert text == (
        "Is yes {tool_calls} an answer to Where is my lamp?? {other}\n\n"
        'tool_calls:\nfind_order({"order": "R-1"}) -> on its way'
    )
    assert asked(None).startswith("Did the agent do what it was asked to do?\n\ninput:\nWhere is my lamp?\n\noutput:")
    assert "(empty)" in asked(None, said(""))
    assert "(the run failed: ValueError: no)" in asked(None, replace(RUN, error="ValueError: no"))
    assert "(output is not stored)" in asked(None, replace(said(""), cut=("output is not stored",)))


def test_what_is_long_is_cut_and_says_so_and_the_last_calls_are_shown():
    text = asked("{output}", said("a" * 30_000))
    assert len(text) < 25_000
    assert "[... 10000 characters are cut ...]" in text
    calls = tuple(ScoredToolCall(f"tool_{n}", {}, "x" * 3_000, "completed") for n in range(100))
    text = asked("{tool_calls}", replace(RUN, tool_calls=calls))
    assert len(text) < 50_000
    assert "tool_99(" in text
    assert "earlier calls are left out]" in text
    assert "tool_0(" not in text


def test_an_answer_is_read_in_whatever_words_it_stands_and_nonsense_is_none():
    assert read_verdict('{"reason": "fine", "value": true}').value is True
    score = read_verdict('Sure!\n```json\n{"value": 1, "reason": "all of it"}\n```')
    assert (score.value, score.comment) == (1.0, "all of it")
    for text in ("", "no", '{"reason": "?"}', '{"value": "yes"}', '{"value": 8}', '{"value": null}', '{"value": NaN}'):
        with pytest.raises(NoVerdict):
            read_verdict(text)
    for completion in ({}, {"choices": []}, {"choices": [{"message": None}]}):
        with pytest.raises(NoVerdict):
            answer_text(completion)
    assert answer_text({"choices": [{"message": {"content": None}}]}) == ""
    assert tokens_of({"usage": {"prompt_tokens": 7, "completion_tokens": 2}}) == JudgedTokens(7, 2)
    assert tokens_of({}) == JudgedTokens(0, 0)


def test_the_judge_s_run_names_the_judged_one_and_its_user():
    run = JudgeRun("0c" * 16, "good", RUN.run, "u1", 100)
    body = judge_body("gpt-4o", judge_messages("Good?", RUN))
    run.add_call(body, "nonsense", JudgedTokens(7, 2), (110, 120))
    run.add_call(body, None, JudgedTokens(), (130, 140), "it does not answer")
    batch = run.batch(150)
    root, first, second = batch.spans
    assert (root.attributes[names.AGENT_NAME], root.attributes[names.USER]) == ("playhead.judge", "u1")
    assert (root.start_ns, root.end_ns, root.parent_id) == (100, 150, None)
    assert all(span.attributes[names.LINKED_RUNS] == [RUN.run] for span in batch.spans)
    assert [span.attributes[names.CALL_ORDER] for span in batch.spans] == [1, 2, 3]
    assert first.attributes[names.INPUT_TOKENS] == 7
    assert first.parent_id == root.span_id
    assert (second.status_message, names.OUTPUT_MESSAGES_REF in second.attributes) == ("it does not answer", False)
    assert len({span.span_id for span in batch.spans}) == 3
    assert {ref for thread in batch.threads for ref in thread.messages} <= {content.ref for content in batch.contents}
