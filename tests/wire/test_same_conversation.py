"""The same conversation through each provider's client has the same messages, by ref, wherever that can be.

docs/instrumentation.md lists the differences that remain; each is a test here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.capture.registry import LIBRARIES
from playhead.model import names
from playhead.model.span import Span
from tests.support.journal_reader import Journaled, Recording, start_recording
from tests.support.provider_chats import CHATS
from tests.support.provider_chats.conversation import hold, message_refs

needs_gemini = pytest.mark.skipif("google.genai" not in LIBRARIES, reason="google-genai is not instrumented yet")
PROVIDERS = [pytest.param(name, marks=needs_gemini) if name == "gemini" else name for name in CHATS]


class Held:
    """What was recorded of the conversation through one provider: messages of the last request, threads of all."""

    def __init__(self, seen: Journaled):
        calls: list[Span] = [span for span in seen.spans if names.INPUT_MESSAGES_REF in span.attributes]
        self.threads: list[str] = [str(call.attributes[names.INPUT_MESSAGES_REF]) for call in calls]
        self.messages: list[Any] = seen.messages(self.threads[-1])
        self.refs = message_refs(seen, self.threads[-1])

    def of_role(self, role: str) -> list[str]:
        """Refs of the messages of this role."""
        return [ref for ref, message in zip(self.refs, self.messages, strict=True) if message["role"] == role]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Held]]:
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("journals")
        found: dict[str, Held] = {}
        for name, chat in CHATS.items():
            if name != "gemini" or "google.genai" in LIBRARIES:
                found[name] = _held(folder / name.replace(" ", "_"), patched, chat)
        yield found


def _held(folder: Path, patched: pytest.MonkeyPatch, chat: Any) -> Held:
    recordings = start_recording(folder, patched)
    recording: Recording = next(recordings)
    playhead.instrument()
    try:
        hold(chat)
        return Held(recording.read())
    finally:
        playhead.uninstrument()
        next(recordings, None)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_system_and_user_messages_have_the_same_refs(provider: str, held: dict[str, Held]):
    usual = held["openai chat"]
    for role, count in (("system", 1), ("user", 3)):
        assert held[provider].of_role(role) == usual.of_role(role)
        assert len(usual.of_role(role)) == count


@pytest.mark.parametrize("provider", ["openai responses", "anthropic"])
def test_tool_messages_have_the_same_refs(provider: str, held: dict[str, Held]):
    assert held[provider].of_role("tool") == held["openai chat"].of_role("tool")
    assert len(held[provider].of_role("tool")) == 4


def test_whole_threads_are_the_same_for_chat_completions_and_messages(held: dict[str, Held]):
    assert held["anthropic"].threads == held["openai chat"].threads
    assert len(set(held["anthropic"].threads)) == 6


@pytest.mark.parametrize("provider", PROVIDERS)
def test_threads_are_the_same_until_the_first_difference(provider: str, held: dict[str, Held]):
    same = {"openai chat": 6, "openai responses": 3, "anthropic": 6, "gemini": 1}[provider]
    usual, other = held["openai chat"].threads, held[provider].threads
    assert [a == b for a, b in zip(usual, other, strict=True)] == [True] * same + [False] * (6 - same)


def test_in_responses_each_item_of_an_answer_is_a_message_of_its_own(held: dict[str, Held]):
    usual = held["openai chat"].messages
    split = [{"role": message["role"], "parts": [part]} for message in usual for part in message["parts"]]
    assert held["openai responses"].messages == split
    assert len(split) == len(usual) + 2


@needs_gemini
def test_in_gemini_a_tools_result_is_an_object_and_has_the_functions_name(held: dict[str, Held]):
    expected: list[Any] = []
    for message in held["openai chat"].messages:
        parts = [dict(part) for part in message["parts"]]
        for part in parts:
            if part["type"] == "tool_call_response":
                part |= {"name": "lookup", "response": {"result": part["response"]}}
        expected.append({"role": message["role"], "parts": parts})
    assert held["gemini"].messages == expected


def test_the_threads_are_those_that_other_environments_compare_with(held: dict[str, Held], golden: Any):
    golden("same_conversation/threads.txt", "\n".join(held["openai chat"].threads) + "\n")
