"""Tests of an agent, with what comes with Playhead: a mock model, and a recorder in memory.

    pytest examples/test_my_agent.py

No key, no network, no collector. When a test fails, its report has the transcript of the run.
"""

import json
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.testing import MockModelServer, RunRecorder, text, tool_call, tool_requested

# --- the agent, which is in a module of its own otherwise --------------------------------------------------------


@observe(kind="tool")
def refund(order: str, amount: int) -> dict[str, int]:
    if amount > 20:
        raise ValueError(f"at most 20 can be refunded for {order}")
    return {"refunded": amount}


@observe(kind="agent")
def agent(task: str) -> str | None:
    client = openai.OpenAI()
    messages: list[Any] = [{"role": "user", "content": task}]
    while True:
        answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages).choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return answer.content
        messages += [{"role": "tool", "tool_call_id": call.id, "content": use(call)} for call in answer.tool_calls]


def use(call: Any) -> str:
    try:
        return json.dumps(refund(**json.loads(call.function.arguments)))
    except ValueError as error:
        return f"error: {error}"


# --- its tests -------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def recorded_client() -> None:
    playhead.instrument("openai")


def test_a_customer_gets_the_second_charge_back(playhead_recorder: RunRecorder, mock_model: MockModelServer) -> None:
    mock_model.when(~tool_requested("refund"), tool_call("refund", {"order": "A1", "amount": 20}))
    mock_model.otherwise(text("It is on its way back to you."))
    agent("I was charged twice for order A1.")
    run = playhead_recorder.last
    run.assert_called("refund", amount=20)
    assert run.output == "It is on its way back to you."


def test_the_model_is_told_why_a_refund_failed(playhead_recorder: RunRecorder, mock_model: MockModelServer) -> None:
    mock_model.when(~tool_requested("refund"), tool_call("refund", {"order": "A1", "amount": 40}))
    mock_model.otherwise(text("I am sorry."))
    agent("I want it all back.")
    run = playhead_recorder.last
    [tried] = run.tool_calls
    assert tried.error is not None
    assert "refunded" not in run.context(at=tried.seq).text
    assert "error: at most 20 can be refunded for A1" in run.context()


if __name__ == "__main__":
    raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
