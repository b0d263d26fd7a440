"""The fixture `playhead_recorder`: what a program did, in memory, and asserts about it."""

import json
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead import observe, recording
from playhead.testing import MockModelServer, text, thinking, tool_call, tool_requested
from playhead.testing.recorder import RunRecorder


@observe(kind="tool")
def refund(order: str, amount: int) -> dict[str, int]:
    if amount > 20:
        raise ValueError("too much")
    return {"refunded": amount}


@observe(kind="agent")
def agent(task: str) -> str | None:
    # Closed: a socket that is left to the garbage collector warns during some later test, which fails by that.
    with openai.OpenAI() as client:
        return answer_of(client, task)


def answer_of(client: openai.OpenAI, task: str) -> str | None:
    messages: list[Any] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": task}]
    while True:
        answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(answer.model_dump(exclude_none=True, exclude={"reasoning_content"}))
        if not answer.tool_calls:
            return answer.content
        for call in answer.tool_calls:
            result = json.dumps(refund(**json.loads(call.function.arguments)))  # type: ignore[union-attr]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


@pytest.fixture
def refunding(mock_model: MockModelServer) -> MockModelServer:
    mock_model.when(~tool_requested("refund"), thinking("hm") + tool_call("refund", {"order": "A1", "amount": 20}))
    mock_model.otherwise(text("done"))
    playhead.instrument("openai")
    return mock_model


def test_a_run_has_its_calls_with_their_values(playhead_recorder: RunRecorder, refunding: MockModelServer):
    assert agent("pay back") == "done"
    run = playhead_recorder.last
    assert (run.name, run.status, run.input, run.output, run.answer) == (
        "agent", "completed", {"task": "pay back"}, "done", "done",
    )  # fmt: skip
    first, second = run.llm_calls
    assert first.requested_tools == [("refund", {"order": "A1", "amount": 20})]
    assert (second.text, second.model, second.error) == ("done", "m", None)
    assert (first.reasoning, second.reasoning) == ("hm", "")
    assert str(run).count("thinks: ") == str(run).count("thinks: hm\n") == 1
    assert second.usage["input_tokens"] > first.usage["input_tokens"]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    [tool] = run.tool_calls
    assert (tool.name, tool.arguments, tool.result) == ("refund", {"order": "A1", "amount": 20}, {"refunded": 20})


def test_any_moment_of_a_run_can_be_asked_about(playhead_recorder: RunRecorder, refunding: MockModelServer):
    agent("pay back")
    run = playhead_recorder.last
    [tool] = run.tool_calls
    assert "refunded" not in run.context(at=tool.seq)
    assert "refunded" in run.context()
    assert "be kind" in run.context(at=tool.seq).text
    before, after = run.state(at=tool.seq - 1), run.state(at=tool.seq)
    assert (before.tool_calls, after.tool_calls, run.state().llm_calls) == (0, 1, 2)
    called = run.events[tool.seq - 1]
    assert run.content(getattr(called, "arguments")) == {"order": "A1", "amount": 20}  # noqa: B009
    with pytest.raises(LookupError, match="no model call"):
        run.context(at=1)
    with pytest.raises(LookupError, match="is not recorded"):
        run.content("sha256:" + "0" * 64)


def test_asserts_say_what_was_called_instead(playhead_recorder: RunRecorder, refunding: MockModelServer):
    agent("pay back")
    run = playhead_recorder.last
    assert run.assert_called("refund", amount=20).result == {"refunded": 20}
    run.assert_called("refund")
    run.assert_not_called("refund", amount=21)
    run.assert_tool_calls([("refund", {"amount": 20, "order": "A1"})])
    with pytest.raises(
        AssertionError, match=r"refund\(amount=21\) was not called; it was called as refund\(.*amount=20"
    ):
        run.assert_called("refund", amount=21)
    with pytest.raises(AssertionError, match=r"delete\(\) was not called; tools that were called: refund"):
        run.assert_called("delete")
    with pytest.raises(AssertionError, match="was called"):
        run.assert_not_called("refund")
    with pytest.raises(AssertionError, match=r"not called: delete\(\)\ncalled besides: refund\("):
        run.assert_tool_calls([("delete", {})])


def test_tools_in_another_order_are_others_unless_their_order_does_not_matter(playhead_recorder: RunRecorder):
    with playhead.run("both"):
        refund("A1", 1)
        refund("A2", 2)
    calls: list[tuple[str, Any]] = [("refund", {"order": order, "amount": n}) for order, n in (("A2", 2), ("A1", 1))]
    playhead_recorder.last.assert_tool_calls(calls, ordered=False)
    with pytest.raises(AssertionError, match="called in another order: refund"):
        playhead_recorder.last.assert_tool_calls(calls)


def test_a_run_that_fails_says_with_what(playhead_recorder: RunRecorder):
    with pytest.raises(ValueError, match="too much"), playhead.run("generous"):
        refund("A1", 21)
    run = playhead_recorder.last
    assert run.status == "failed"
    assert run.error is not None
    assert (run.error.type, run.error.message) == ("ValueError", "too much")
    assert str(run.tool_calls[0].error) == "ValueError: too much"
    assert "tool refund(order='A1', amount=21)" in str(run).replace("amount=21, order='A1'", "order='A1', amount=21")


def test_each_run_is_there_also_one_that_has_not_ended(playhead_recorder: RunRecorder):
    with pytest.raises(AssertionError, match="nothing was recorded"):
        _ = playhead_recorder.last
    with playhead.run("first"):
        refund("A1", 1)
        assert (playhead_recorder.last.name, playhead_recorder.last.status) == ("first", "running")
    with playhead.run("second"):
        pass
    assert [run.name for run in playhead_recorder.runs] == ["first", "second"]
    assert playhead_recorder.runs[0].status == "completed"


def test_nothing_is_written_or_sent_whatever_the_program_configures(playhead_recorder: RunRecorder, tmp_path: Path):
    playhead.configure(journal_dir=tmp_path / "journal", endpoint="http://127.0.0.1:9", disabled=True)
    with playhead.run("configured"):
        playhead.event("order_shipped", {"order": 17})
    assert playhead.flush()
    assert playhead.shutdown()
    with playhead.run("shut down"):
        pass
    assert [run.name for run in playhead_recorder.runs] == ["configured", "shut down"]
    assert [event.kind for event in playhead_recorder.runs[0].events][1] == "custom_event"
    assert not (tmp_path / "journal").exists()
    assert recording.RecordingProcess.recording is not None
    assert recording.RecordingProcess.recording.shipper is None


def test_a_large_message_is_whole(playhead_recorder: RunRecorder, mock_model: MockModelServer):
    mock_model.otherwise(text("x" * 100_000))
    playhead.instrument("openai")
    agent("y" * 100_000)
    run = playhead_recorder.last
    assert run.answer == "x" * 100_000
    assert "y" * 100_000 in run.context()
    assert len(str(run)) < 5_000


def test_the_report_of_a_failed_test_has_the_transcript(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import playhead

        @playhead.observe(kind="tool")
        def refund(amount):
            return {"refunded": amount}

        def test_it(playhead_recorder):
            with playhead.run("generous"):
                refund(20)
            assert playhead_recorder.last.tool_calls == []

        def test_that(playhead_recorder):
            with playhead.run("generous"):
                refund(21)

        def test_without_the_fixture():
            from playhead.recording import RecordingProcess
            assert RecordingProcess.in_memory is None
            assert RecordingProcess.recording is None
        """
    )
    done = pytester.runpytest_inprocess("-p", "no:asyncio")
    done.assert_outcomes(failed=1, passed=2)
    done.stdout.fnmatch_lines(["*Recorded run *", "run *(generous): completed", "*tool refund(amount=20)"])
    assert "amount=21" not in done.stdout.str()
