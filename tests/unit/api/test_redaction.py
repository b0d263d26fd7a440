"""Redaction hooks see copies of what will be recorded, and the program keeps what it has, whatever they edit."""

import asyncio
import contextlib
import copy
import dataclasses
from collections.abc import Callable, Generator
from typing import Any

import openai
import pydantic
import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt
from playhead.model import names
from playhead.testing import MockModelServer, any_request, contains, rate_limit, text, tool_call
from tests.support.journal_reader import Recording
from tests.support.logged import messages_of


def masking(value: Any) -> Any:
    """Edits what it is given, in place, as a careless hook does."""
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = "***" if key in {"card", "token"} else masking(item)
    elif isinstance(value, list):
        value[:] = map(masking, value)
    elif isinstance(value, str):
        return value.replace("PAN-4111", "***")
    return value


def emptying(value: Any) -> Any:
    """Takes away all there is."""
    if isinstance(value, dict | list):
        value.clear()
    return value


@dataclasses.dataclass
class Login:
    user: str
    token: str
    nested: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])


class Card(pydantic.BaseModel):
    card: str
    limits: list[int] = [1, 2]


@pytest.fixture(params=["of the call", "of all calls"])
def how(request: pytest.FixtureRequest, recording: Recording) -> Callable[..., Any]:
    """`observe` with a hook, set in one way or the other."""

    def observed(hook: Callable[[Any], Any], **options: Any) -> Any:
        if request.param == "of all calls":
            recording.configure(redact=hook)
            return observe(**options)
        return observe(redact=hook, **options)

    return observed


VALUES: list[Any] = [
    {"card": "PAN-4111", "deep": [{"card": "PAN-4111"}]},
    Login("ann", "secret", {"token": "secret", "list": ["PAN-4111"]}),
    Card(card="PAN-4111"),
    [{"token": "secret"}, ["PAN-4111"]],
    ("PAN-4111", [{"card": "PAN-4111"}]),
    {1: {"card": "PAN-4111"}},
    bytearray(b"PAN-4111"),
    {"z": {"card": "PAN-4111"}, "a": 1},
]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("hook", [masking, emptying])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_hook_that_edits_what_it_is_given_changes_nothing_in_the_program(
    how: Callable[..., Any], hook: Callable[[Any], Any], value: Any, caplog: pytest.LogCaptureFixture
):
    given = copy.deepcopy(value)
    inside: list[Any] = []

    @how(hook)
    def give(x: Any, *more: Any, **named: Any) -> Any:
        inside.append(copy.deepcopy((x, more, named)))
        return x

    with playhead.run("r") as run:
        run.state["x"] = given
        playhead.annotate(decision=given)
        playhead.checkpoint(given)
        assert give(given, given, named=given) is given
    assert given == value
    assert inside == [(value, (value,), {"named": value})]
    assert all("cannot be given back later" in message for message in messages_of(caplog))
    caplog.clear()


@pytest.mark.usefixtures("quiet")
def test_the_function_is_called_with_its_arguments_and_the_caller_gets_the_result(
    recording: Recording, how: Callable[..., Any]
):
    charged: list[str] = []

    @how(masking, kind="tool")
    def pay(card: str) -> str:
        charged.append(card)
        return "ok"

    @how(masking, kind="tool")
    def login(user: str) -> dict[str, str]:
        return {"user": user, "token": "secret"}

    with playhead.run("r"):
        assert pay(card="PAN-4111") == "ok"
        assert login("ann") == {"user": "ann", "token": "secret"}
    seen = recording.read()
    assert charged == ["PAN-4111"]
    assert (seen.input("pay"), seen.output("login")) == ({"card": "***"}, {"user": "ann", "token": "***"})
    assert not any(b"PAN-4111" in content.data or b"secret" in content.data for content in seen.contents.values())


@pytest.mark.usefixtures("quiet")
async def test_generators_and_coroutines_give_what_they_gave(recording: Recording, how: Callable[..., Any]):
    @how(emptying)
    def steps(x: list[int]) -> Generator[list[int]]:
        yield x
        yield [*x, 2]

    @how(emptying)
    async def give(x: list[int]) -> list[int]:
        await asyncio.sleep(0)
        return x

    with playhead.run("r"):
        assert list(steps([1])) == [[1], [1, 2]]
        assert await give([1]) == [1]
    assert recording.read().output("steps") == []


@pytest.mark.usefixtures("quiet")
def test_messages_and_the_model_s_answer_stay_what_they_are(recording: Recording):
    recording.configure(redact=masking)
    with MockModelServer() as server:
        server.when(any_request(), tool_call("refund", {"card": "PAN-4111"}), times=1)
        server.otherwise(text("done PAN-4111"))
        playhead.instrument("openai")
        executed: list[str] = []

        @observe(kind="tool")
        def refund(card: str) -> str:
            executed.append(card)
            return "ok"

        try:
            with openai.OpenAI(base_url=server.base_url, api_key="none") as client, playhead.run("r"):
                messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "PAN-4111"}]}]
                asked = copy.deepcopy(messages)
                answer = client.chat.completions.create(model="m", messages=messages)
                assert messages == asked
                [wanted] = answer.choices[0].message.tool_calls or []
                assert wanted.type == "function"
                assert wanted.function.arguments == '{"card":"PAN-4111"}'
                refund(card="PAN-4111")
                assert client.chat.completions.create(model="m", messages=messages).choices[0].message.content == (
                    "done PAN-4111"
                )
        finally:
            playhead.uninstrument("openai")
        assert all("PAN-4111" in str(request.body) for request in server.requests)
    seen = recording.read()
    assert executed == ["PAN-4111"]
    assert names.TOOL_CALL_ID in seen.call("refund").attributes
    assert not any(b"PAN-4111" in content.data for content in seen.contents.values())


def test_hooks_see_plain_values_only(recording: Recording):
    seen: list[type] = []

    def look(value: Any) -> Any:
        seen.append(type(value))
        if isinstance(value, dict):
            for item in value.values():
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)
        return value

    recording.configure(redact=look)

    @observe
    def give(x: Any, y: Any) -> Any:
        return x

    for value in VALUES:
        give(value, b"PAN-4111")
    assert {*seen} <= {dict, list, str, bytes, int, float, bool, type(None)}


def test_the_second_hook_is_given_a_copy_of_what_the_first_returned(recording: Recording):
    own = {"token": "secret"}
    recording.configure(redact=masking)

    @observe(redact=lambda value: own)
    def give() -> int:
        return 1

    give()
    assert own == {"token": "secret"}
    assert recording.read().output("give") == {"token": "***"}


# --- only what was changed cannot be given back -----------------------------------------------------------------------


def twice(program: Callable[[], Any]) -> tuple[Any, Any]:
    first = None
    with contextlib.suppress(ConnectionError), playhead.run("p") as run:
        first = program()
        raise ConnectionError  # a run that has completed would execute nothing again
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        again = program()
    return first, again


RESULTS: list[Any] = [
    5,
    "text",
    None,
    b"bytes",
    {"z": 1, "a": [1, {"y": 1, "b": 2}]},
    ("a", {1: 2}),
    Login("ann", "", {"list": [1.5]}),
    Card(card=""),
    float("inf"),
]


@pytest.mark.parametrize("hook", [lambda value: value, copy.deepcopy, masking])
@pytest.mark.parametrize("value", RESULTS, ids=lambda value: type(value).__name__)
def test_what_a_hook_left_alone_is_given_back(how: Callable[..., Any], hook: Callable[[Any], Any], value: Any):
    if hook is masking:
        value = value if not isinstance(value, Login | Card) else 1
    executed: list[int] = []

    @how(hook, kind="tool")
    def give(n: int) -> Any:
        executed.append(n)
        return value

    @how(hook, kind="tool")
    def steps() -> Generator[Any]:
        executed.append(0)
        yield value
        yield value

    first, again = twice(lambda: [give(1), list(steps())])
    assert first == again
    assert executed == [1, 0]


@pytest.mark.parametrize("value", ["card PAN-4111", {"card": "x"}, Login("ann", "secret"), [[{"token": 1}]]])
def test_what_a_hook_changed_is_in_doubt_and_only_that(how: Callable[..., Any], value: Any):
    executed: list[str] = []

    @how(masking, kind="tool")
    def harmless() -> str:
        executed.append("harmless")
        return "fine"

    @how(masking, kind="tool")
    def login() -> Any:
        executed.append("login")
        return value

    with pytest.raises(InDoubt, match=r"login:tool was executed, .*redacted in the record"):
        twice(lambda: [harmless(), login()])
    assert executed == ["harmless", "login"]


def test_arguments_that_a_hook_changes_are_compared_as_they_are_recorded(how: Callable[..., Any]):
    executed: list[str] = []

    @how(masking, kind="tool")
    def pay(card: str, amount: int) -> str:
        executed.append(card)
        return "paid"

    assert twice(lambda: pay("PAN-4111", 5)) == ("paid", "paid")
    assert executed == ["PAN-4111"]


class Hiding(pydantic.BaseModel):
    user: str
    card: str = pydantic.Field(exclude=True)
    _session: str = pydantic.PrivateAttr("private-PAN-4111")


def test_what_a_hook_does_not_see_is_not_kept(recording: Recording, how: Callable[..., Any]):
    def by_key_at_the_top(value: Any) -> Any:
        return {**value, "card": "***"} if isinstance(value, dict) and "card" in value else value

    @how(by_key_at_the_top, kind="tool")
    def login() -> Any:
        return Hiding(user="ann", card="PAN-4111-excluded")

    with pytest.raises(InDoubt, match="parts that a redaction hook does not see"):
        twice(login)
    assert not any(b"PAN-4111" in content.data for content in recording.read().contents.values())


class Declined(Exception):
    def __init__(self, code: int, card: str | None = None):
        super().__init__("declined")
        self.code = code
        self.card = card


def test_an_error_that_a_hook_left_alone_is_raised_again(how: Callable[..., Any]):
    executed: list[int] = []

    @how(masking, kind="tool")
    def pay() -> None:
        executed.append(1)
        error = Declined(402)
        del error.card
        raise error

    def program() -> tuple[type, int]:
        with pytest.raises(Declined) as raised:
            pay()
        return type(raised.value), raised.value.code

    assert twice(program) == ((Declined, 402), (Declined, 402))
    assert executed == [1]


@pytest.mark.parametrize(
    "error", [Declined(402, "x"), ValueError("card PAN-4111"), ValueError({"token": "x"})], ids=repr
)
def test_an_error_that_a_hook_changed_is_in_doubt(recording: Recording, how: Callable[..., Any], error: Exception):
    @how(masking, kind="tool")
    def pay() -> None:
        raise error

    def program() -> None:
        with pytest.raises(type(error)):
            pay()

    with pytest.raises(InDoubt, match="error was not recorded in a form"):
        twice(program)


def test_a_model_s_answer_that_a_hook_left_alone_is_given_again(recording: Recording):
    recording.configure(redact=masking)
    with MockModelServer() as server:
        server.when(contains("first"), text("fine"))
        server.when(contains("limited"), rate_limit())
        server.otherwise(text("card PAN-4111"))
        playhead.instrument("openai")
        try:
            with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:

                def ask(content: str, **more: Any) -> Any:
                    return client.chat.completions.create(
                        model="m", messages=[{"role": "user", "content": content}], **more
                    )

                def program() -> Any:
                    with pytest.raises(openai.RateLimitError):
                        ask("limited")
                    streamed = [chunk.model_dump() for chunk in ask("first", stream=True)]
                    return streamed, ask("first PAN-4111").choices[0].message.content, ask("second").choices[0].message

                first, again = twice(program)
                assert first == again
                assert [str(request.body).count("second") for request in server.requests] == [0, 0, 0, 1, 1]
        finally:
            playhead.uninstrument("openai")


def test_a_hook_that_raises_is_told_of_once_and_without_what_it_says(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    def refuse(value: Any) -> Any:
        raise ValueError(value)

    for secret in ("PAN-4111", "PAN-4222"):
        observe(redact=refuse)(identity)(secret)
    recording.configure(redact=lambda: None)
    observe(identity)("PAN-4333")
    said = messages_of(caplog)
    assert len(said) == 2
    assert "hook raised ValueError" in said[0]
    assert "hook raised TypeError" in said[1]
    assert "called with one payload" in said[1]
    assert not [text for text in said for secret in ("PAN-4111", "PAN-4222", "PAN-4333") if secret in text]


def identity(value: str) -> str:
    return value
