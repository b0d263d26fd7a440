"""What a program says of itself, from its process to the collector: a compression it made, a plan it wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.client import Client
from playhead.testing import MockModelServer, pytest_plugin, sequence, text, tool_call
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server
SYSTEM: Any = {"role": "system", "content": "You are a shop's agent."}


@pytest.fixture
def client(database_url: str, tmp_path: Path) -> Iterator[Client]:
    """A collector that gets what this process records, asked over HTTP."""
    with CollectorProcess(database_url=database_url) as collector, Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument("openai")
        yield client
        playhead.shutdown()
        playhead.uninstrument("openai")
        assert "Traceback" not in collector.log()


@pytest.fixture
def model(server: MockModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as model:
        yield model


def ask(model: openai.OpenAI, messages: list[Any]) -> Any:
    answer = model.chat.completions.create(model="gpt-4o", messages=messages)
    messages.append(answer.choices[0].message.model_dump(exclude_none=True))
    return answer.choices[0].message


def say(messages: list[Any], words: str) -> list[Any]:
    messages.append({"role": "user", "content": words})
    return messages


def shopping(model: openai.OpenAI, *, declare: bool) -> str:
    """An agent that sums up its conversation after three turns, and says so, or does not; its run."""
    with playhead.run("shop") as run:
        messages = [SYSTEM]
        for words in ("My account is 77812345.", "I want the lamp LMP-4471.", "Send it to Bern."):
            ask(model, say(messages, words))
        summary = {"role": "user", "content": "Summary of the conversation: a lamp is to be sent to Bern."}
        shorter = [SYSTEM, summary, *messages[-1:]]
        if declare:
            playhead.compressed(before=messages, after=shorter, summary=summary, strategy="rolling summary")
        ask(model, say(shorter, "When will it be there?"))
        ask(model, say(shorter, "Thank you."))
    assert run.id is not None
    assert playhead.flush(60)
    return run.id


def test_a_compression_that_a_program_declares_is_told_once_and_audited(
    client: Client, model: openai.OpenAI, server: MockModelServer
):
    server.otherwise(text("Very well."))
    run = shopping(model, declare=True)
    events = [event for event in client.events(run) if event["kind"] == "context_compressed"]
    assert [event["data"]["origin"] for event in events] == ["declared"]
    [item] = client.compressions(run)
    assert (item["origin"], item["strategy"]) == ("declared", "rolling summary")
    assert item["messages"] == {"before": 7, "after": 3, "kept": 2, "summarised": 5, "dropped": 0, "moved": 0}
    calls = [call["seq"] for call in client.llm_calls(run)]
    assert item["call"] == calls[3]
    audit = client.compression(run, item["seq"])
    assert [place["position"] for place in audit["kept"]] == [0, 6]
    assert [place["position"] for place in audit["summarised"]] == [1, 2, 3, 4, 5]
    assert audit["summary"] is not None
    assert "is to be sent to Bern" in audit["summary"]["parts"][0]["content"]
    assert {"77812345", "LMP-4471"} <= {fact["text"] for fact in audit["lost"]}
    assert (audit["strength"], audit["rule"], audit["missing"]) == ("strong", "declared", [])
    entry = next(item for item in client.messages(run) if item["seq"] == audit["summarised"][0]["seq"])
    assert entry["removed"] is not None
    assert entry["removed"]["seq"] == item["seq"]


def test_the_same_without_a_word_is_inferred(client: Client, model: openai.OpenAI, server: MockModelServer):
    server.otherwise(text("Very well."))
    run = shopping(model, declare=False)
    assert [item["origin"] for item in client.compressions(run)] == ["inferred"]


def test_a_call_is_put_down_to_the_step_of_a_plan_that_names_it(
    client: Client, model: openai.OpenAI, server: MockModelServer
):
    server.when(sequence(1), tool_call("refund_order", {"order": "A1"}))
    server.otherwise(text("done"))

    @observe(kind="tool")
    def refund_order(order: str) -> str:
        return f"{order} refunded"

    with playhead.run("shop") as run:
        playhead.annotate(plan=["look at the complaint", {"text": "refund the order, if it is late"}])
        messages: list[Any] = [SYSTEM]
        asked = ask(model, say(messages, "Deal with the next complaint.")).tool_calls[0]
        messages.append({"role": "tool", "tool_call_id": asked.id, "content": refund_order(order="A1")})
        ask(model, messages)
    assert run.id is not None
    assert playhead.flush(60)
    [plan] = [event for event in client.events(run.id) if event["kind"] == "plan_created"]
    [why] = client.attributions(run.id)
    assert (why["kind"], why["strength"], why["rule"]) == ("plan_step", "strong", "plan_names_tool")
    [evidence] = why["evidence"]
    assert (evidence["what"], evidence["seq"]) == ("plan", plan["seq"])
    assert evidence["quote"] == "refund the order, if it is late"
    assert evidence["content"] == plan["refs"]["plan"] == client.state(run.id)["plan"]
    assert [option["kind"] for option in client.decisions(run.id)] == [
        "tool_selection", "answer", "stop"
    ]  # fmt: skip
