"""Both clients ask the same questions, get the same typed answers, and say what to do when there is none."""

import inspect
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import httpx
import pytest

from playhead.client import AsyncClient, Client
from playhead.client.operations import Operations
from playhead.client.requests import watch_client_method
from playhead.client.responses import collector_url, verification
from playhead.errors import BadRequest, ClientError, CollectorUnreachable, NotAuthorized, NotFound, SettingInvalid
from playhead.model import event as ev
from playhead.model.canonical import value_of
from playhead.model.message import text_message
from playhead.wire.operations.operation import DeclaredOperation
from tests.support.readers.fake import RUN, FakeStore, Story
from tests.support.readers.served import app_on, served

OURS = {"playhead-collector": "1"}


@pytest.fixture(scope="module")
def store() -> FakeStore:
    store = FakeStore()
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    story.model_call("a", [], [text_message("user", "hello")], text_message("assistant", "hi"))
    story.tool_call("t", "search", {"q": 2**70}, b"\x00\x01")
    for n in range(1_200):
        story.add(ev.StateChanged, "root", key=f"k{n}")
    story.done()
    return store


@pytest.fixture(scope="module")
def url(store: FakeStore) -> Iterator[str]:
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture
async def async_client(url: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url) as client:
        yield client


def test_every_question_has_an_answer(client: Client, store: FakeStore):
    ref = store.keep({"q": 2**70})
    assert [row["run"] for row in client.runs(status="running", since=datetime(2020, 1, 1, tzinfo=UTC))] == [RUN]
    assert client.run(RUN)["events"] == 1_207
    assert client.state(RUN, at=2)["history"] != []
    assert client.context(RUN, at=3)["messages"] == [text_message("user", "hello")]
    assert client.context(RUN, form="openai")["messages"] == [{"role": "user", "content": "hello"}]
    assert [message["role"] for message in client.messages(RUN)] == ["user", "assistant"]
    assert [call["model"] for call in client.llm_calls(RUN)] == ["gpt-4o"]
    assert [call["name"] for call in client.tool_calls(RUN)] == ["search"]
    assert client.reasoning(RUN, 3)["captured"] is None
    assert list(client.spans(RUN)) == []
    assert client.contents([ref])[ref] == {"media_type": "application/json", "size": 28, "value": {"q": 2**70}}
    assert value_of(client.content(ref)) == {"q": 2**70}


def test_a_list_is_fetched_page_by_page_and_no_further_than_wanted(client: Client):
    assert [event["seq"] for event in client.events(RUN)] == list(range(1, 1_208))
    assert [event["seq"] for event in client.events(RUN, after=3, limit=2)] == [4, 5]
    assert list(client.events(RUN, limit=0)) == []
    assert [e["kind"] for e in client.events(RUN, kinds=["tool_called", "run_started"])] == [
        "run_started",
        "tool_called",
    ]


async def test_the_asynchronous_client_answers_the_same(client: Client, async_client: AsyncClient):
    assert await async_client.state(RUN, at=5, hydrate=True) == client.state(RUN, at=5, hydrate=True)
    assert await async_client.run(RUN) == client.run(RUN)
    assert [event async for event in async_client.events(RUN)] == list(client.events(RUN))
    assert [row async for row in async_client.runs(limit=1)] == list(client.runs(limit=1))


async def test_the_asynchronous_client_fails_the_same(async_client: AsyncClient):
    with pytest.raises(NotFound, match="there is no run"):
        await async_client.run("f" * 32)
    async with AsyncClient("http://127.0.0.1:9") as nobody:
        with pytest.raises(CollectorUnreachable, match="is it running"):
            await nobody.run(RUN)


def test_every_question_is_documented_and_shows_its_parameters(client: Client):
    described = [item for cls in Operations.__mro__ for item in vars(cls).items()]
    questions = [name for name, value in described if isinstance(value, DeclaredOperation | watch_client_method)]
    assert {"runs", "state", "decisions", "tokens", "explain"} <= set(questions)
    for name in questions:
        method = getattr(client, name)
        assert inspect.getdoc(method)
        assert "self" not in inspect.signature(method).parameters


def test_what_is_not_there_is_not_found_with_a_hint(client: Client):
    with pytest.raises(NotFound, match="`playhead runs` lists"):
        client.run("f" * 32)
    with pytest.raises(NotFound, match="its events are 1 to 1207"):
        client.state(RUN, at=9_999)


@pytest.mark.parametrize("run", ["", "last/events", "..", "../keys"])
def test_a_name_that_no_path_can_have_is_nobody_s(client: Client, run: str):
    with pytest.raises(NotFound, match="there is no run '.*`playhead runs` lists"):
        client.run(run)
    with pytest.raises(NotFound, match="there is no run"):
        client.compare(RUN, run)
    with pytest.raises(NotFound, match=f"run {RUN} has no event"):
        client.why(RUN, run)


def test_a_key_that_no_request_can_have_is_a_wrong_setting():
    with pytest.raises(SettingInvalid, match="PLAYHEAD_API_KEY cannot be the value that it has"):
        Client("http://collector", "schlüssel")


def test_a_collector_without_tls_is_told_from_none():
    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER]")

    with (
        Client("https://collector", transport=httpx.MockTransport(answer)) as client,
        pytest.raises(CollectorUnreachable, match="begins with http://"),
    ):
        client.run(RUN)


def test_a_question_that_makes_no_sense_is_refused_with_a_reason(client: Client):
    with pytest.raises(BadRequest, match="is not a content ref"):
        client.content("x")
    with pytest.raises(BadRequest, match="is not a time: write it like"):
        list(client.events(RUN, since="yesterday"))


NO_TEXT = os.fsdecode(b"caf\xe9")  # what a command gets of an argument in another encoding


def test_a_value_that_cannot_be_sent_is_refused_with_a_reason(client: Client):
    with pytest.raises(BadRequest, match=r"'\\udce9' .* UTF-8"):
        next(client.runs(agent=NO_TEXT))
    with pytest.raises(BadRequest, match=r"'\\udce9' .* UTF-8"):
        client.add_note("last", NO_TEXT)
    with pytest.raises(BadRequest, match=r"'\\udce9' .* UTF-8"):
        next(client.watch(kinds=[NO_TEXT]))
    with pytest.raises(BadRequest, match="JSON compliant"):
        client.score("last", "good", float("nan"))


async def test_so_it_is_by_the_asynchronous_client(async_client: AsyncClient):
    with pytest.raises(BadRequest, match=r"'\\udce9' .* UTF-8"):
        await anext(async_client.runs(agent=NO_TEXT))


def test_a_kind_that_no_event_has_gives_no_events(client: Client):
    assert list(client.events(RUN, kinds=["no_such_kind"])) == []


@pytest.mark.parametrize(
    ("response", "error", "says"),
    [
        (
            httpx.Response(401, json={"error": {"code": "unauthorized", "message": "send the key"}}, headers=OURS),
            NotAuthorized,
            "key",
        ),
        (
            httpx.Response(503, json={"error": {"code": "x", "message": "try again"}}, headers=OURS),
            ClientError,
            "try again",
        ),
        (
            httpx.Response(404, json={"error": {"message": "Unknown request URL"}}),  # a model's server
            CollectorUnreachable,
            r"is no Playhead collector \(it said 404: Unknown request URL\)",
        ),
        (httpx.Response(404, text="<h1>nginx</h1>"), CollectorUnreachable, "is no Playhead collector"),
        (httpx.Response(404, json=["no"]), CollectorUnreachable, "PLAYHEAD_COLLECTOR_URL"),
        (httpx.Response(200, text="<h1>hello</h1>"), CollectorUnreachable, "is no Playhead collector"),
    ],
)
def test_other_answers_say_what_to_do(response: httpx.Response, error: type[ClientError], says: str):
    with (
        Client("http://collector", transport=httpx.MockTransport(lambda _: response)) as client,
        pytest.raises(error, match=says),
    ):
        client.run(RUN)


def test_nobody_there_and_nobody_answering_in_time_are_told_apart(url_of_nobody: str):
    with Client(url_of_nobody) as client, pytest.raises(CollectorUnreachable, match="playhead serve"):
        client.run(RUN)

    def too_slow(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("")

    with (
        Client("http://collector", transport=httpx.MockTransport(too_slow)) as client,
        pytest.raises(CollectorUnreachable, match="in time"),
    ):
        client.run(RUN)


@pytest.fixture
def url_of_nobody() -> Iterator[str]:
    """Where nobody listens, as long as the test takes: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_the_key_goes_along(monkeypatch: pytest.MonkeyPatch):
    sent: list[str | None] = []

    def note(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"items": [], "next_cursor": None})

    for environment, given in (("", None), ("k1", None), ("k1", "k2")):
        monkeypatch.setenv("PLAYHEAD_API_KEY", environment)
        with Client("http://collector", given, transport=httpx.MockTransport(note)) as client:
            list(client.runs())
    assert sent == [None, "Bearer k1", "Bearer k2"]


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, "http://127.0.0.1:4318"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:1/"}, "http://a:1"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:1/", "PLAYHEAD_ENDPOINT": "http://c:1"}, "http://c:1"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:1", "PLAYHEAD_COLLECTOR_URL": "https://b/x/"}, "https://b/x"),
        ({"PLAYHEAD_COLLECTOR_URL": " "}, "http://127.0.0.1:4318"),
    ],
)
def test_the_collector_is_where_spans_go_unless_said_otherwise(environ: dict[str, str], url: str):
    assert collector_url(None, environ) == url
    assert collector_url("http://given", environ) == "http://given"


def test_an_address_that_is_none_is_a_wrong_setting():
    with pytest.raises(SettingInvalid, match="PLAYHEAD_COLLECTOR_URL"):
        collector_url("collector:4318", {})


@pytest.mark.parametrize(("limit", "sent"), [(None, "50"), (7, "7"), (1_000, "1000")])
def test_a_search_by_ref_asks_for_as_many_runs_as_were_asked_for(limit: int | None, sent: str):
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, json={"items": [], "next_cursor": None, "unindexed": 0})

    with Client("http://collector", transport=httpx.MockTransport(answer)) as client:
        assert list(client.search_content(ref="sha256:" + "0" * 64, limit=limit)) == []
    assert [url.params["limit"] for url in asked] == [sent]


@pytest.mark.parametrize("foreign", [{}, [], "ok", {"items": 1, "next_cursor": None}, {"items": []}])
def test_a_list_that_another_program_answers_with_is_named_as_such(foreign: object):
    http = httpx.MockTransport(lambda request: httpx.Response(200, json=foreign))
    with (
        Client("http://collector", transport=http) as client,
        pytest.raises(CollectorUnreachable, match="is no Playhead"),
    ):
        list(client.promises(run="0" * 32))


def test_only_an_address_with_tls_makes_a_client_read_certificates():
    plain = verification("http://127.0.0.1:4318")
    assert isinstance(plain, ssl.SSLContext)
    assert (plain.get_ca_certs(), plain.verify_mode) == ([], ssl.CERT_REQUIRED)  # trusts nothing, should TLS be used
    assert verification("https://collector.example") is True
