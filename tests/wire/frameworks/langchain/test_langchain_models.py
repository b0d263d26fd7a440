"""LangChain's models, embeddings and retrievers: recorded once each, and answered again from the record."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, PrivateAttr

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import Recording, kind, start_recording

pytestmark = pytest.mark.slow
server = pytest_plugin.mock_model_server
HISTORY: list[BaseMessage] = [
    SystemMessage("be kind"),
    HumanMessage("where is A1?", id="h-1"),
    AIMessage("", tool_calls=[{"name": "look_up", "args": {"order": "A1"}, "id": "c1"}], id="run-17"),
    ToolMessage("delayed", tool_call_id="c1", name="look_up"),
]
USAGE: Any = {
    "input_tokens": 7, "output_tokens": 3, "total_tokens": 10,
    "input_token_details": {"cache_read": 2, "cache_creation": 1, "audio": 4},
    "output_token_details": {"reasoning": 1, "audio": 2},
}  # fmt: skip


class Own(BaseChatModel):
    """A chat model as users write one, on top of nothing that we know."""

    model_name: str = "own-1"
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])
    _said: AIMessage = PrivateAttr(default=AIMessage("It is delayed.", usage_metadata=USAGE))

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self._calls.append(messages)
        if messages[-1].content == "fail":
            raise ConnectionError("the model is gone")
        return ChatResult(generations=[ChatGeneration(message=self._said)], llm_output={"model_name": "own-1-2026"})

    def _stream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self._calls.append(messages)
        for part in ("It ", "is ", "late."):
            yield ChatGenerationChunk(message=AIMessageChunk(content=part))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            await asyncio.sleep(0)
            yield chunk


class Vectors(Embeddings):
    """Embeddings as users write them."""

    def __init__(self) -> None:
        self.calls = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        return [[float(len(text)), 0.5] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Shelf(BaseRetriever):
    """A retriever as users write one."""

    vectors: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.vectors.embed_query(query)
        return [Document(page_content=f"about {query}", metadata={"page": 1})]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "langchain_core")
        yield recording
        playhead.uninstrument()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if "could not" in record.message] == []


def calls(recording: Recording, *kinds: str) -> list[Span]:
    return [span for span in recording.read().spans if kind(span) in (kinds or ("llm", "embedding", "retriever"))]


def on_openai(server: MockModelServer) -> ChatOpenAI:
    options: Any = {"base_url": server.base_url, "api_key": "none"}
    return ChatOpenAI(model="m", **options)


@pytest.mark.covers("langchain", "spans", "messages", "usage", "tools")
def test_a_model_of_ones_own_is_recorded_with_all_that_it_saw_and_said(recording: Recording):
    model = Own()
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]
    answer = model.bind(tools=tools, temperature=0.5).invoke(HISTORY, stop=["END"])
    assert answer.content == "It is delayed."
    [call], seen = calls(recording), recording.read()
    attributes = call.attributes
    assert call.name == "chat own-1"
    assert (attributes[names.PROVIDER], attributes[names.RESPONSE_MODEL]) == ("own", "own-1-2026")
    assert attributes[names.REQUEST_TEMPERATURE] == 0.5
    counted = (names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS)
    assert [attributes[name] for name in (*counted, names.REASONING_TOKENS)] == [7, 3, 2, 1, 1]
    assert [attributes[name] for name in (names.AUDIO_INPUT_TOKENS, names.AUDIO_OUTPUT_TOKENS)] == [4, 2]
    assert seen.value(call, names.TOOL_DEFINITIONS_REF) == tools
    assert seen.value(call, names.REQUEST_REF) == {"temperature": 0.5, "stop": ["END"]}
    assert [(message["role"], message["parts"]) for message in seen.messages(attributes[names.INPUT_MESSAGES_REF])] == [
        ("system", [{"type": "text", "content": "be kind"}]),
        ("user", [{"type": "text", "content": "where is A1?"}]),
        ("assistant", [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": "A1"}}]),
        ("tool", [{"type": "tool_call_response", "id": "c1", "response": "delayed"}]),
    ]
    # An independent look: what the model's class was really given.
    [given] = model._calls
    assert [message.content for message in given] == [message.content for message in HISTORY]


@pytest.mark.covers("langchain", "messages")
def test_its_messages_have_the_refs_that_they_have_through_openai(recording: Recording, server: MockModelServer):
    server.otherwise(text("It is delayed."))
    Own().invoke(HISTORY)
    on_openai(server).invoke(HISTORY)
    own, openais = calls(recording)
    assert own.attributes[names.INPUT_MESSAGES_REF] == openais.attributes[names.INPUT_MESSAGES_REF]
    assert own.attributes[names.OUTPUT_MESSAGES_REF] == openais.attributes[names.OUTPUT_MESSAGES_REF]


@pytest.mark.covers("langchain", "spans", "streaming")
def test_a_model_on_a_client_that_is_instrumented_is_one_call(recording: Recording, server: MockModelServer):
    server.otherwise(text("fine"))
    hosted = on_openai(server)

    @observe
    async def agent() -> None:
        hosted.invoke("1")
        await hosted.ainvoke("2")
        list(hosted.stream("3"))
        [chunk async for chunk in hosted.astream("4")]
        hosted.batch(["5", "6"])

    asyncio.run(agent())
    assert [span.name for span in calls(recording)] == ["chat m"] * 6
    assert len(server.requests) == 6
    assert all("/chat:llm#" in span.attributes[names.CALL_KEY] for span in calls(recording))


@pytest.mark.covers("langchain", "streaming", "resume")
def test_streams_are_recorded_and_come_back_chunk_by_chunk(recording: Recording):
    model = Own()

    @observe
    async def agent() -> list[list[Any]]:
        whole = [chunk.content for chunk in model.stream("now?")]
        later = [chunk.content async for chunk in model.astream("later?")]
        events = [event["event"] async for event in model.astream_events("and then?", version="v2")]
        return [whole, later, events]

    first = asyncio.run(agent())
    assert first[0] == ["It ", "is ", "late.", ""]  # the last one is LangChain's own
    streamed = calls(recording)
    assert all(names.TIME_TO_FIRST_CHUNK in span.attributes for span in streamed)
    assert all(span.attributes[names.REQUEST_STREAM] for span in streamed)
    asked = len(model._calls)
    with playhead.resume(streamed[0].attributes[names.RUN_ID]):
        assert asyncio.run(agent()) == first
    assert len(model._calls) == asked
    assert len(calls(recording)) == len(streamed) == 3


@pytest.mark.covers("langchain", "errors", "resume")
def test_an_error_and_a_structured_answer_come_back_from_the_record(recording: Recording):
    class Order(BaseModel):
        number: str

    model = Own()
    model._said = AIMessage("", tool_calls=[{"name": "Order", "args": {"z": 1, "number": "A1"}, "id": "c9"}])

    class WithTools(Own):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[{"type": "function", "function": {"name": "Order"}}])

    tooled = WithTools()
    tooled._said = model._said

    @observe
    def agent() -> list[Any]:
        try:
            model.invoke("fail")
        except ConnectionError as error:
            answer: Any = tooled.with_structured_output(Order, include_raw=True).invoke("which order?")
            return [str(error), answer["parsed"], [*answer["raw"].tool_calls[0]["args"]]]
        return []

    first = agent()
    assert first == ["the model is gone", Order(number="A1"), ["z", "number"]]  # in the order in which they were said
    failed, answered = calls(recording)
    assert failed.attributes[names.ERROR_TYPE] == "ConnectionError"
    assert answered.attributes[names.FINISH_REASONS] == ["tool_calls"]
    asked = len(model._calls), len(tooled._calls)
    with playhead.resume(failed.attributes[names.RUN_ID]):
        assert agent() == first
    assert (len(model._calls), len(tooled._calls)) == asked


@pytest.mark.covers("langchain", "fork")
def test_a_fork_gives_another_answer_also_as_a_stream(recording: Recording):
    model = Own()

    @observe
    def agent() -> list[Any]:
        first = model.invoke("first")
        return [first, model.invoke([HumanMessage("first"), first, HumanMessage("second")]), [*model.stream("third")]]

    agent()
    one, two, three = calls(recording)
    run_id = one.attributes[names.RUN_ID]
    call = {"id": "c5", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 5}'}}
    with playhead.fork(run_id, at=two.span_id, outcome={"message": {"tool_calls": [call]}}):
        assert agent()[1].tool_calls == [{"name": "pay", "args": {"amount": 5}, "id": "c5", "type": "tool_call"}]
    with playhead.fork(run_id, at=three.span_id, outcome={"message": "never"}):
        assert "".join(chunk.content for chunk in agent()[2]) == "never"
    with playhead.fork(run_id, at=one.span_id, outcome={"messages": {0: "premier"}}):
        agent()
    assert [message.content for message in model._calls[-2]] == ["premier", "It is delayed.", "second"]


@pytest.mark.covers("langchain", "spans", "resume")
def test_retrievers_and_embeddings_are_calls_of_their_own_kinds(recording: Recording):
    vectors = Vectors()
    shelf = Shelf(vectors=vectors)

    @observe
    async def agent() -> list[Any]:
        found = [shelf.invoke("orders"), await shelf.ainvoke("refunds")]
        return [*found, vectors.embed_documents(["a", "bc"]), await vectors.aembed_query("abc")]

    first = asyncio.run(agent())
    assert first[0] == [Document(page_content="about orders", metadata={"page": 1})]
    assert first[2:] == [[[1.0, 0.5], [2.0, 0.5]], [3.0, 0.5]]
    seen = recording.read()
    retrievals, embeddings = calls(recording, "retriever"), calls(recording, "embedding")
    assert [span.name for span in retrievals] == ["retrieval Shelf"] * 2
    assert seen.value(retrievals[0], names.INPUT_REF) == {"query": "orders"}
    assert seen.value(retrievals[0], names.OUTPUT_REF)[0]["page_content"] == "about orders"
    assert [span.attributes[names.OPERATION] for span in embeddings] == ["embeddings"] * 4
    assert seen.value(embeddings[2], names.INPUT_REF) == ["a", "bc"]
    called = vectors.calls
    with playhead.resume(retrievals[0].attributes[names.RUN_ID]):
        assert asyncio.run(agent()) == first
    assert vectors.calls == called
    assert len(calls(recording)) == 6


def test_embeddings_on_a_client_that_is_instrumented_are_one_call(recording: Recording, server: MockModelServer):
    options: Any = {"base_url": server.base_url, "api_key": "none", "check_embedding_ctx_length": False}
    hosted = OpenAIEmbeddings(model="e", **options)
    hosted.embed_query("orders")
    hosted.embed_documents(["a", "b"])
    assert [span.name for span in calls(recording)] == ["embeddings e"] * 2


def test_a_text_of_a_model_reaches_callbacks_from_the_record_too(recording: Recording):
    from langchain_core.callbacks import BaseCallbackHandler

    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.tokens: list[str] = []

        def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
            self.tokens.append(token)

    model, live, again = Own(), Heard(), Heard()

    @observe
    def agent(heard: Heard) -> None:
        list(model.stream("now?", config={"callbacks": [heard]}))

    observe(name="agent", capture_input=False)(agent.__wrapped__)(live)
    run_id = recording.read().spans[0].attributes[names.RUN_ID]
    with playhead.resume(run_id):
        observe(name="agent", capture_input=False)(agent.__wrapped__)(again)
    assert again.tokens == live.tokens == ["It ", "is ", "late.", ""]


def test_a_tool_call_of_a_streamed_model_is_whole(recording: Recording):
    class Calling(Own):
        def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            for piece in ('{"order"', ': "A1"}'):
                name = "look_up" if "order" in piece else None
                call: Any = {"name": name, "args": piece, "id": "c1" if name else None, "index": 0}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))

    list(Calling().stream("where?"))
    [call], seen = calls(recording), recording.read()
    [said] = seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF])
    assert said["parts"] == [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": "A1"}}]
