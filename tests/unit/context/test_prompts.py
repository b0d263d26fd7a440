"""Prompts of sections: modes, how they are chosen, what they save, and what a model call that sends one has of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anthropic
import openai
import pytest
from google import genai

import playhead
from playhead.context import Context, Prompt, by_tools, by_words
from playhead.local.client import JournalClient
from playhead.testing import MockModelServer
from playhead.testing import text as says
from tests.support.journal_reader import Recording
from tests.support.mixed_requests import REQUESTS, five_mode_prompt

SECTIONS = {"core": "You help with pages. " * 10, "design": "Use few colours. " * 20, "data": "Count twice."}
MODES = {"general": ["core"], "creation": ["design", "core"], "analysis": ["core", "data"]}


def test_what_all_modes_have_comes_first():
    prompt = Prompt(SECTIONS, MODES)
    assert prompt.modes == {"general": ("core",), "creation": ("core", "design"), "analysis": ("core", "data")}
    assert prompt.render(mode="creation") == f"{SECTIONS['core']}\n\n{SECTIONS['design']}"


def test_names_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="'general' has sections that there are not: x"):
        Prompt(SECTIONS, {"general": ["core", "x"]})
    with pytest.raises(ValueError, match="at least one mode"):
        Prompt(SECTIONS, {})
    with pytest.raises(ValueError, match="expected one of general"):
        Prompt(SECTIONS, MODES, default="x")
    with pytest.raises(ValueError, match="expected one of general"):
        Prompt(SECTIONS, MODES).render(mode="x")


def test_words_choose_whole_words_beginnings_and_phrases_and_most_of_them_win():
    choose = by_words({"a": ["Draw", "creat*"], "b": ["pull request", "merge"]})
    assert choose("Please DRAW it!", ()) == "a"
    assert choose("the creation", ()) == "a"
    assert choose("a withdrawal", ()) is None
    assert choose("pull the request", ()) is None
    assert choose("draw what the pull request will merge", ()) == "b"
    assert choose("draw, then merge", ()) == "a"
    assert choose("", ()) is None
    assert by_words({})("draw", ()) is None


def test_the_tool_that_was_used_last_chooses_where_the_words_cannot():
    prompt = Prompt(SECTIONS, MODES, [by_words({"analysis": ["why"]}), by_tools({"creation": ["add", "move"]})])
    assert prompt.mode_for("Yes, please", ["add", "search"]) == "creation"
    assert prompt.mode_for("Why?", ["add"]) == "analysis"
    assert prompt.mode_for("Hello") == "general"


def test_a_function_that_fails_or_names_no_mode_leaves_the_default(caplog: pytest.LogCaptureFixture):
    def broken(message: str, tools: Sequence[str] = ()) -> str:
        raise RuntimeError("down")

    prompt = Prompt(SECTIONS, MODES, [broken, lambda message, tools: "nowhere"], default="analysis")
    assert prompt.render("Hello") == prompt.render(mode="analysis")
    assert "could not choose the mode of a prompt" in caplog.text
    assert "'nowhere' is no mode of the prompt" in caplog.text


def test_five_modes_save_more_than_half_of_a_prompt_with_everything():
    prompt = five_mode_prompt()
    wrong: list[tuple[str, str, str]] = []
    for message, tools, right in REQUESTS:
        guessed = prompt.mode_for(message, tools)
        prompt.render(message, tools)
        if guessed != right:
            wrong.append((message, guessed, right))
    savings = prompt.savings()
    assert savings.renders == len(REQUESTS) == 50
    assert savings.whole_tokens / 50 == pytest.approx(2_000, rel=0.03)
    assert savings.share >= 0.4
    assert sum(savings.modes.values()) == 50
    assert round(savings.share, 3) == 0.708
    assert wrong == [
        ("Thanks, bye", "support", "general"),
        ("I need a page for job offers", "general", "creation"),
        ("Which page is read most?", "general", "analysis"),
        ("Who reads the news page, and when?", "general", "analysis"),
    ]


# --- on the call ------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    server = MockModelServer(models=("mock-model",))
    server.otherwise(says("Noted."))
    yield server
    playhead.uninstrument()


@pytest.fixture
def journal(recording: Recording) -> Callable[[], JournalClient]:
    def client() -> JournalClient:
        playhead.flush()
        return JournalClient(recording.folder, pytest.fail)

    return client


def ask_chat(server: MockModelServer, system: str) -> None:
    client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": "Hello"}]
    client.chat.completions.create(model="mock-model", messages=messages)


def ask_context(server: MockModelServer, system: str) -> None:
    client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    context = Context(system=system)
    context.add("user", "Hello")
    client.chat.completions.create(model="mock-model", messages=context.for_model())


def ask_responses(server: MockModelServer, system: str) -> None:
    client = openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=server.http_client())
    client.responses.create(model="mock-model", instructions=system, input="Hello")


def ask_anthropic(server: MockModelServer, system: str) -> None:
    client = anthropic.Anthropic(api_key="k", base_url="http://mock", http_client=server.http_client())
    blocks: Any = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    client.messages.create(
        model="mock-model", max_tokens=9, system=blocks, messages=[{"role": "user", "content": "Hello"}]
    )


def ask_gemini(server: MockModelServer, system: str) -> None:
    options: Any = {"base_url": "http://mock", "httpx_client": server.http_client()}
    client = genai.Client(api_key="k", http_options=options)
    config: Any = {"system_instruction": system}
    client.models.generate_content(model="mock-model", contents="Hello", config=config)


ASKS = [ask_chat, ask_context, ask_responses, ask_anthropic, ask_gemini]


@pytest.mark.parametrize("ask_model", ASKS, ids=lambda ask_model: ask_model.__name__)
@pytest.mark.parametrize("added", ["", "\n\nToday is Monday."], ids=["alone", "with more"])
def test_a_model_call_has_the_mode_and_the_tokens_of_each_section(
    ask_model: Callable[[MockModelServer, str], None],
    added: str,
    server: MockModelServer,
    journal: Callable[[], JournalClient],
):
    playhead.instrument("openai", "anthropic", "google.genai")
    prompt = Prompt(SECTIONS, MODES)
    prompt.render(mode="general")
    with playhead.run("agent") as run:
        ask_model(server, prompt.render(mode="creation") + added)
        ask_model(server, "Another prompt.")
    with journal() as client:
        called = [event for event in client.events(run.id or "") if event["kind"] == "llm_called"]
        tokens = client.tokens(run.id or "", split=True)
    assert called[0]["data"]["prompt_mode"] == "creation"
    assert called[0]["data"]["prompt_sections"] == ["core", "design"]
    assert not {"prompt_mode", "prompt_sections", "section_tokens"} & called[1]["data"].keys()
    first, second = [point.get("split") for point in tokens["items"] if point["kind"] == "llm_called"]
    assert first is not None
    assert second is not None
    sections = {section["name"]: section["tokens"] for section in first.get("sections", [])}
    assert list(sections) == ["core", "design"]
    assert 0 < sections["core"] < sections["design"] < first["system"]
    assert sum(sections.values()) <= first["system"]
    assert "sections" not in second
    total = tokens["totals"].get("split")
    assert total is not None
    assert total.get("sections") == first.get("sections")


def test_a_wanted_word_without_letters_is_never_said():
    assert by_words({"question": ["?"]})("nothing", ()) is None
    assert by_words({"question": ["?"], "code": ["c++"]})("in C++, please?", ()) == "code"
