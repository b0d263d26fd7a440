"""One conversation by five instrumentations: ours, OpenTelemetry's, OpenInference's, OpenLLMetry's, pydantic-ai's own.

Ours is recorded here, with the real client; the others were captured (tests/senders).  A table of docs/integrations.md
says what is the same; the ids of calls are the model server's, and differ from recording to recording.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.message import Message
from playhead.testing import MockModelServer
from tests.senders.capture import script
from tests.senders.programs import scene
from tests.senders.sent import sent
from tests.support.journal_reader import start_recording

OTHERS = ("otel_genai_openai", "openinference_openai", "openllmetry_openai", "pydantic_ai_6")
ROLES = ("system", "user", "assistant", "tool")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Message]]:
    """The messages of the third call, as our own instrumentation records them."""
    with pytest.MonkeyPatch.context() as patched, MockModelServer() as server:
        script(server)
        for recording in start_recording(tmp_path_factory.mktemp("journal"), patched):
            playhead.instrument("openai")
            try:
                with playhead.run("clerk"), openai.OpenAI(base_url=server.base_url, api_key="none") as client:
                    scene.talk_openai(client)
                seen = recording.read()
            finally:
                playhead.uninstrument("openai")
            calls = [span for span in seen.spans if names.INPUT_MESSAGES_REF in span.attributes]
            yield seen.messages(str(calls[2].attributes[names.INPUT_MESSAGES_REF]))


def third(name: str) -> list[Message]:
    it = sent(name)
    return it.messages(it.calls()[2].thread)


def refs(messages: list[Message], role: str) -> list[str]:
    """The refs of the messages of a role, which have the same id of a call whoever recorded them."""
    said = [message for message in messages if message["role"] == role]
    calls = {part["id"] for message in messages for part in message["parts"] if part["type"] == "tool_call"}
    text = json.dumps(said)
    for call in calls:
        text = text.replace(str(call), "call_1")
    return [str(content_of(message).ref) for message in json.loads(text)]


@pytest.mark.parametrize("name", OTHERS)
def test_every_message_has_the_same_ref_as_our_own_instrumentation_gives_it(name: str, ours: list[Message]):
    theirs = third(name)
    for role in ROLES:
        assert refs(theirs, role) == refs(ours, role), role
    assert [message["role"] for message in theirs] == [message["role"] for message in ours]
    assert len(refs(ours, "user")) == 2
    assert len(refs(ours, "tool")) == 1


def test_the_table_says_so():
    page = (Path(__file__).parents[3] / "docs" / "integrations.md").read_text(encoding="utf-8")
    rows: list[Any] = [f"| `{name}` | the same | the same | the same | the same |" for name in OTHERS]
    assert all(row in page for row in rows)
