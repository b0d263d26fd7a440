"""Who records a model call of a framework: the client inside if there is one that is instrumented, else the framework's
module, and never both.  By a framework made by hand; its clients are the real `openai` and the mock model server.
"""

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import (
    FrameworkModelApi,
    observing_model,
    observing_model_async,
    observing_model_stream,
    observing_model_stream_async,
)
from playhead.capture.patching import Instrumentation, WrapSubclasses
from playhead.capture.wrapping import MethodCall
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.model.json_value import object_of, text_at
from playhead.model.span import Span
from playhead.testing import MockModelServer, text
from tests.support.journal_reader import Recording, kind, start_recording

NAME = "a_framework_made_by_hand"
ASKED = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
PARTS = ["fine, ", "thank ", "you"]


class Model(ABC):
    """The framework's: it calls these, and users implement them."""

    @abstractmethod
    def generate(self, messages: list[Any]) -> str: ...

    async def agenerate(self, messages: list[Any]) -> str:
        return await asyncio.to_thread(self.generate, messages)

    def stream(self, messages: list[Any]) -> Iterator[str]:
        raise NotImplementedError

    def astream(self, messages: list[Any]) -> AsyncIterator[str]:
        raise NotImplementedError


def _request(asked: MethodCall) -> Any:
    return chat_request(
        asked.client, provider="by-hand", model_name="m", messages=asked.args[0], settings={"temperature": 0}
    )


API = FrameworkModelApi(
    read_request=_request,
    with_messages=lambda asked, messages: MethodCall(asked.client, asked.method, (messages,), {}, asked.is_async),
    dump=lambda answer: {"said": answer},
    load=lambda raw: object_of(raw)["said"],
    read=lambda raw: chat_response(
        raw,
        {"role": "assistant", "content": text_at(raw, "said")},
        usage={names.INPUT_TOKENS: 3, names.OUTPUT_TOKENS: None},
    ),
    from_message=lambda message, asked: {"said": message["content"]},
)
STREAMED = FrameworkModelApi(
    read_request=_request,
    with_messages=API.with_messages,
    dump=API.dump,
    load=API.load,
    read=API.read,
    from_message=API.from_message,
    join=lambda chunks: {"said": "".join(text_at(chunk, "said") for chunk in chunks)},
)
WRAPPED = WrapSubclasses(
    NAME,
    "Model",
    {
        "generate": observing_model(API),
        "agenerate": observing_model_async(API),
        "stream": observing_model_stream(STREAMED),
        "astream": observing_model_stream_async(STREAMED),
    },
)


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    made: Any = ModuleType(NAME)
    made.Model = Model
    monkeypatch.setitem(sys.modules, NAME, made)
    framework = Instrumentation([WRAPPED])
    framework.patch()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")
    framework.unpatch()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if "could not" in record.message] == []


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with MockModelServer() as server:
        server.otherwise(text("fine, thank you"))
        with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            yield client


def local_model() -> Any:
    """A model without a client; its class is new in each test, as what is known of classes outlives a test."""

    class Local(Model):
        calls = 0
        closed = 0
        error: BaseException | None = None
        seen: Any = None

        def generate(self, messages: list[Any]) -> str:
            self.calls += 1
            if self.seen is not None:
                self.seen()
            if self.error is not None:
                raise self.error
            return f"{messages[-1]['content']}: fine"

        async def agenerate(self, messages: list[Any]) -> str:
            self.calls += 1
            await asyncio.sleep(0)
            return f"{messages[-1]['content']}: fine"

        def stream(self, messages: list[Any]) -> Iterator[str]:
            self.calls += 1
            try:
                for part in PARTS:
                    if part == "you" and self.error is not None:
                        raise self.error
                    yield part
            finally:
                self.closed += 1

        async def astream(self, messages: list[Any]) -> AsyncIterator[str]:
            for part in self.stream(messages):
                yield part

    return Local()


def hosted_model(client: openai.OpenAI) -> Any:
    class Hosted(Model):
        def generate(self, messages: list[Any]) -> str:
            return str(client.chat.completions.create(model="gpt", messages=messages).choices[0].message.content)

        def stream(self, messages: list[Any]) -> Iterator[str]:
            for chunk in client.chat.completions.create(model="gpt", messages=messages, stream=True):
                yield chunk.choices[0].delta.content or "" if chunk.choices else ""

    return Hosted()


def models_called(recording: Recording) -> list[Span]:
    return [span for span in recording.read().spans if kind(span) == "llm"]


def test_a_model_without_a_client_is_recorded_with_what_it_was_asked_and_said(recording: Recording):
    model = local_model()

    @observe
    def agent() -> str:
        return model.generate(ASKED)

    assert agent() == "hello: fine"
    seen = recording.read()
    [call] = models_called(recording)
    assert call.name == "chat m"
    assert call.attributes[names.CALL_KEY] == "agent/Local:llm#1"
    assert call.attributes[names.PROVIDER] == "by-hand"
    assert call.attributes[names.REQUEST_TEMPERATURE] == 0
    assert call.attributes[names.INPUT_TOKENS] == 3
    assert names.OUTPUT_TOKENS not in call.attributes
    assert seen.messages(call.attributes[names.INPUT_MESSAGES_REF])[1]["parts"] == [
        {"type": "text", "content": "hello"}
    ]
    assert seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF])[0]["role"] == "assistant"
    assert seen.parent("m") == "agent"


def test_the_same_messages_have_the_same_refs_through_a_client(recording: Recording, client: openai.OpenAI):
    local_model().generate(ASKED)
    client.chat.completions.create(model="gpt", messages=ASKED)  # pyright: ignore[reportArgumentType]
    own, clients = models_called(recording)
    assert own.attributes[names.INPUT_MESSAGES_REF] == clients.attributes[names.INPUT_MESSAGES_REF]


def test_an_instrumented_client_inside_records_the_call_alone(recording: Recording, client: openai.OpenAI):
    model = hosted_model(client)

    @observe
    def agent() -> list[str]:
        return [model.generate(ASKED), "".join(model.stream(ASKED)), model.generate(ASKED)]

    assert agent() == ["fine, thank you"] * 3
    assert [span.attributes[names.CALL_KEY] for span in models_called(recording)] == [
        "agent/chat:llm#1",
        "agent/chat:llm#2",
        "agent/chat:llm#3",
    ]


def test_a_client_that_is_called_in_another_thread_records_the_call_alone(recording: Recording, client: openai.OpenAI):
    model = hosted_model(client)

    @observe
    async def agent() -> str:
        return await model.agenerate(ASKED)  # which runs in a thread

    assert asyncio.run(agent()) == "fine, thank you"
    assert [span.name for span in models_called(recording)] == ["chat gpt"]


def test_of_models_that_call_each_other_the_innermost_records(recording: Recording):
    inner = local_model()

    class Outer(Model):
        def generate(self, messages: list[Any]) -> str:
            return inner.generate(messages).upper()

        def stream(self, messages: list[Any]) -> Iterator[str]:
            yield from inner.stream(messages)

    outer = Outer()

    @observe
    def agent() -> None:
        assert outer.generate(ASKED) == "HELLO: FINE"
        assert outer.generate(ASKED) == "HELLO: FINE"
        assert list(outer.stream(ASKED)) == PARTS

    agent()
    assert {span.attributes[names.CALL_KEY].partition("#")[0] for span in models_called(recording)} == {
        "agent/Local:llm"
    }
    assert len(models_called(recording)) == 3


def test_a_call_is_announced_once_its_class_is_known_to_have_no_client(recording: Recording):
    model, announced = local_model(), list[int]()
    model.seen = lambda: announced.append(sum(kind(span) == "llm" for span in recording.read().announced))
    for _ in range(3):
        model.generate(ASKED)
    assert announced == [0, 2, 3]  # the first one's announcement came when it was known whose call it is


def test_a_class_that_calls_a_client_only_sometimes_is_counted_once_in_all_ways(
    recording: Recording, client: openai.OpenAI
):
    local, hosted = local_model(), hosted_model(client)

    class Router(Model):
        def generate(self, messages: list[Any]) -> str:
            if messages[-1]["content"] == "hello":
                return "short"
            return str(client.chat.completions.create(model="gpt", messages=messages).choices[0].message.content)

    router = Router()
    hard, harder = ([*ASKED[:1], {"role": "user", "content": f"a {how} one"}] for how in ("hard", "harder"))

    @observe
    def agent() -> None:
        for messages in (ASKED, hard, harder, ASKED):
            router.generate(messages)
        local.generate(ASKED)
        hosted.generate(ASKED)

    agent()
    assert [span.attributes[names.CALL_KEY] for span in models_called(recording)] == [
        "agent/Router:llm#1", "agent/Router:llm#2", "agent/chat:llm#1", "agent/Router:llm#3", "agent/Local:llm#1",
        "agent/chat:llm#2",
    ]  # fmt: skip
    [run_id] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    with playhead.resume(run_id):
        agent()
    assert local.calls == 1
    assert len(models_called(recording)) == 6


def test_a_stream_is_recorded_with_its_chunks_also_when_it_is_left(recording: Recording):
    model = local_model()
    assert list(model.stream(ASKED)) == PARTS
    left = model.stream(ASKED)
    assert next(left) == PARTS[0]
    left.close()
    assert model.closed == 2
    whole, part = models_called(recording)
    seen = recording.read()
    assert seen.value(whole, names.RESPONSE_REF) == {"stream": [{"said": part} for part in PARTS]}
    assert seen.messages(whole.attributes[names.OUTPUT_MESSAGES_REF])[0]["parts"][0]["content"] == "".join(PARTS)
    assert 0 <= whole.attributes[names.TIME_TO_FIRST_CHUNK] < 60
    assert part.attributes[names.OUTCOME] == "aborted"
    assert seen.value(part, names.RESPONSE_REF) == {"stream": [{"said": PARTS[0]}]}


def test_an_asynchronous_stream_is_recorded_also_when_it_is_cancelled(recording: Recording):
    model = local_model()

    async def agent() -> list[str]:
        whole = [part async for part in model.astream(ASKED)]
        left = model.astream(ASKED)
        await anext(left)
        await left.aclose()
        return whole

    assert asyncio.run(agent()) == PARTS
    calls = models_called(recording)
    # `astream` goes through `stream` here: the inner one records, and each call is there once.
    assert [span.attributes.get(names.OUTCOME) for span in calls] == [None, "aborted"]


def test_errors_and_cancellations_are_told(recording: Recording):
    model = local_model()
    model.error = ValueError("the model is gone")
    for _ in range(2):  # before its class is known, and after
        with pytest.raises(ValueError, match="is gone"):
            model.generate(ASKED)
    with pytest.raises(ValueError, match="is gone"):
        list(model.stream(ASKED))

    class Slow(Model):
        def generate(self, messages: list[Any]) -> str:
            raise NotImplementedError

        async def agenerate(self, messages: list[Any]) -> str:
            await asyncio.Event().wait()
            return ""

    async def cancelled() -> None:
        task = asyncio.create_task(Slow().agenerate(ASKED))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    calls = models_called(recording)
    assert [span.attributes[names.ERROR_TYPE] for span in calls[:3]] == ["ValueError"] * 3
    assert names.RESPONSE_REF in calls[2].attributes  # two of three parts had come
    assert calls[3].attributes[names.OUTCOME] == "cancelled"


def test_a_resumed_run_is_answered_from_the_record_chunk_by_chunk(recording: Recording):
    model = local_model()

    @observe
    async def agent() -> list[Any]:
        said = [model.generate(ASKED), await model.agenerate(ASKED), list(model.stream(ASKED))]
        model.error = ValueError("no more")
        with pytest.raises(ValueError, match="no more"):
            model.generate([{"role": "user", "content": "again"}])
        return [*said, "end"]

    first = asyncio.run(agent())
    [run_id] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    calls, spans = model.calls, len(models_called(recording))
    model.error = None
    with playhead.resume(run_id):
        assert asyncio.run(agent()) == first
    assert model.calls == calls
    assert len(models_called(recording)) == spans


def test_a_call_without_an_agent_is_answered_from_the_record_too(recording: Recording):
    model = local_model()
    said = model.generate(ASKED)
    [run_id] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    with playhead.resume(run_id):
        assert model.generate(ASKED) == said
    assert model.calls == 1


def test_a_fork_takes_another_message_and_other_questions(recording: Recording):
    model = local_model()

    @observe
    def agent() -> list[Any]:
        messages = [*ASKED]
        first = model.generate(messages)
        messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "and then?"}]
        return [first, model.generate(messages), "".join(model.stream(messages))]

    assert agent() == ["hello: fine", "and then?: fine", "".join(PARTS)]
    run_id = recording.read().spans[0].attributes[names.RUN_ID]
    first, _, streamed = models_called(recording)
    with playhead.fork(run_id, at=first.span_id, outcome={"message": "bad"}):
        assert agent()[0] == "bad"
    with playhead.fork(run_id, at=streamed.span_id, outcome={"message": "other"}):
        assert agent() == ["hello: fine", "and then?: fine", "other"]
    with playhead.fork(run_id, at=first.span_id, outcome={"messages": {1: "goodbye"}}):
        assert agent()[:2] == ["goodbye: fine", "and then?: fine"]
    asked = [
        [
            message["parts"][0]["content"]
            for message in recording.read().messages(span.attributes[names.INPUT_MESSAGES_REF])
        ]
        for span in models_called(recording)[-3:]
    ]
    assert [texts[1] for texts in asked] == ["goodbye"] * 3  # later calls that begin alike, too


def test_another_question_than_the_recorded_one_is_told(recording: Recording):
    model = local_model()

    def asking(question: str) -> Any:
        @observe(name="agent")
        def agent() -> str:
            first = model.generate([{"role": "user", "content": question}])
            return first + model.generate([{"role": "user", "content": "last"}])

        return agent

    asking("hello")()
    run_id = recording.read().spans[0].attributes[names.RUN_ID]
    with (
        pytest.raises(ReplayDiverged, match=r"asks something else[^-]*-user: hello\n *\+user: goodbye"),
        playhead.resume(run_id),
    ):
        asking("goodbye")()


def test_a_stopped_run_calls_no_model_any_more(recording: Recording):
    model = local_model()

    def asking(question: str) -> Any:
        @observe(name="agent")
        def agent() -> str:
            with suppress(ReplayDiverged):  # as a framework that tells its model of a tool's error
                model.generate([{"role": "user", "content": question}])
            return str(model.generate([{"role": "user", "content": f"after {question}"}]))

        return agent

    asking("hello")()
    run_id = recording.read().spans[0].attributes[names.RUN_ID]
    with pytest.raises(ReplayDiverged), playhead.resume(run_id, completed="rerun"):
        asking("goodbye")()
    assert model.calls == 3  # the first of the resumed run: only its answer shows who records it


def test_nothing_is_changed_when_nothing_is_recorded(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    recording.configure()
    model = local_model()
    assert model.generate(ASKED) == "hello: fine"
    assert list(model.stream(ASKED)) == PARTS


def test_classes_are_as_they_were_after_unpatching():
    framework = Instrumentation([WRAPPED])
    framework.unpatch()

    class Later(Model):
        def generate(self, messages: list[Any]) -> str:
            return ""

    assert "__init_subclass__" not in vars(Model)
    assert type(vars(Later)["generate"]).__name__ == "function"
    framework.patch()
    assert type(vars(Later)["generate"]).__name__ != "function"
