"""Contexts that real clients and frameworks shorten, as our instrumentations record them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent, ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import playhead
from playhead.model.event import ContextCompressed, LlmCalled
from playhead.testing import MockModelServer, contains, text
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

LIBRARIES = ("openai", "langchain", "pydantic_ai")
SUMMARY = "Maria Lopez has a cracked lamp, LMP-4471, of order W2378156; the account is 77812345."
QUESTIONS = (
    "Hello, I'm Maria Lopez, and my order is W2378156.",
    "The lamp LMP-4471 has a crack.",
    "My account is 77812345.",
)
SYSTEM = "You help customers of a shop with their orders."
ASKS = "Summarize the conversation above."


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.when(contains(ASKS), text(SUMMARY))
        server.otherwise(text("I see. What else can you tell me about it?"))
        yield server


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument(*LIBRARIES)
        yield recording
        playhead.uninstrument(*LIBRARIES)


def compressions(recording: Recording, run: str) -> tuple[list[ContextCompressed], list[LlmCalled]]:
    events = projected(recording.read(), run).events
    found = [event for event in events if isinstance(event, ContextCompressed)]
    return found, [event for event in events if isinstance(event, LlmCalled)]


def test_a_program_that_lets_its_own_model_write_the_summary(server: MockModelServer, recording: Recording):
    with playhead.run("clerk") as run, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}]

        def ask(question: str) -> str:
            messages.append({"role": "user", "content": question})
            said = client.chat.completions.create(model="m", messages=messages).choices[0].message.content or ""
            messages.append({"role": "assistant", "content": said})
            return said

        for question in QUESTIONS:
            ask(question)
        summary = ask(ASKS)
        messages[1:] = []
        ask(summary)
    (cut,), calls = compressions(recording, str(run.id))
    assert (cut.strategy, cut.summariser, cut.before) == ("summary", calls[3].span, calls[2].thread)
    assert len(cut.summarised) == 6


def test_langchain_with_a_summary_in_the_system_message(server: MockModelServer, recording: Recording):
    model = ChatOpenAI(base_url=server.base_url, api_key="none", model="m")  # pyright: ignore[reportArgumentType]
    with playhead.run("clerk") as run:
        messages: list[Any] = [SystemMessage(SYSTEM)]
        for question in QUESTIONS:
            messages.append(HumanMessage(question))
            messages.append(model.invoke(messages))
        summary = model.invoke([*messages, HumanMessage(ASKS)])
        prefix = SystemMessage(f"{SYSTEM}\n\nEarlier: {summary.text}")
        model.invoke([prefix, *messages[-2:], HumanMessage("When will it come?")])
    (cut,), calls = compressions(recording, str(run.id))
    assert (cut.strategy, cut.summariser, cut.before) == ("summary", calls[3].span, calls[2].thread)
    assert len(cut.summarised) == 4


def test_langchains_trimmed_messages(server: MockModelServer, recording: Recording):
    model = ChatOpenAI(base_url=server.base_url, api_key="none", model="m")  # pyright: ignore[reportArgumentType]
    with playhead.run("clerk") as run:
        messages: list[Any] = [SystemMessage(SYSTEM)]
        for question in QUESTIONS:
            messages.append(HumanMessage(question))
            kept = trim_messages(
                messages, max_tokens=4, token_counter=len, strategy="last", start_on="human", include_system=True
            )
            messages.append(AIMessage(model.invoke(kept).text))
    found, calls = compressions(recording, str(run.id))
    assert [(cut.strategy, cut.summary) for cut in found] == [("sliding_window", None)]
    assert found[0].after == calls[2].thread


async def test_pydantic_ais_history_processor_with_an_agent_that_sums_up(server: MockModelServer, recording: Recording):
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
        writer = Agent(model, name="writer", instructions="You condense dialogues.")

        async def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
            if len(messages) < 2 * len(QUESTIONS):
                return messages
            said = "\n".join(str(part) for message in messages for part in message.parts)
            summary = (await writer.run(f"{said}\n{ASKS}")).output
            return [ModelRequest([SystemPromptPart(SYSTEM), UserPromptPart(summary)]), *messages[-1:]]

        clerk = Agent(model, name="clerk", system_prompt=SYSTEM, capabilities=[ProcessHistory(shorten)])
        with playhead.run("clerk") as run:
            history: list[ModelMessage] = []
            for question in (*QUESTIONS, "When will it come?"):
                history = (await clerk.run(question, message_history=history)).all_messages()
    (cut,), calls = compressions(recording, str(run.id))
    assert (cut.strategy, cut.summariser, cut.before) == ("summary", calls[3].span, calls[2].thread)
