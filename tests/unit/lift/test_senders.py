"""What other people's packages really send (tests/senders captures it), and what becomes of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.lift.provider_bodies import read_request
from playhead.model import names
from playhead.model.event import event_to_json
from playhead.model.message import Message
from tests.senders.catalogue import KINDS, SENDERS
from tests.senders.losses import CONTEXT_DIFFERS, NO_CONTENT, NO_CONTEXT, OWN_PROMPTS
from tests.senders.pointing import pointing_table
from tests.senders.programs import scene
from tests.senders.sent import Sent, captured, sent, stored_text
from tests.senders.table import kinds_table, table

MARKER = re.compile(r"Marker-[a-z-]+")
SAID = (
    names.KIND, names.CONVERSATION, names.USER, names.AGENT_NAME, names.TOOL_NAME, names.TOOL_CALL_ID, names.PROVIDER,
    names.REQUEST_MODEL, names.RESPONSE_MODEL, names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS,
    names.CACHE_WRITE_TOKENS, names.REASONING_TOKENS, names.FINISH_REASONS,
)  # fmt: skip

every_sender = pytest.mark.parametrize("name", sorted(SENDERS))
everything = pytest.mark.parametrize("name", sorted({**SENDERS, **KINDS}))


def test_every_sender_was_captured():
    assert captured() == sorted({**SENDERS, **KINDS})


@everything
def test_what_a_sender_sends_becomes_what_its_golden_file_says(name: str, golden: Callable[[str, str], None]):
    it = sent(name)
    value = {
        "spans": [
            {
                "name": one.span.name,
                "said": {key: one.span.attributes[key] for key in SAID if key in one.span.attributes},
                "refs": sorted(key for key in one.span.attributes if key.endswith("_ref")),
            }
            for one in sorted(it.lifted, key=lambda one: (one.span.start_ns, one.span.span_id))
        ],
        "runs": [[_event(it, event_to_json(event)) for event in run.events] for run in it.runs()],
    }
    golden(f"senders/{name}.lifted.json", json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _event(it: Sent, event: dict[str, Any]) -> dict[str, Any]:
    """The event without what differs from capture to capture, and with what its refs say, shortened."""
    data = {key: value for key, value in event.get("data", {}).items() if not key.endswith("_ms")}
    refs = {key: _shown(it, ref) for key, ref in event.get("refs", {}).items() if isinstance(ref, str)}
    return {"kind": event["kind"], "actor": event.get("actor"), "data": data, "refs": refs}


def _shown(it: Sent, ref: str) -> Any:
    if ref in it.nodes:
        return f"a thread of {len(it.thread(ref))}"
    text = json.dumps(it.value(ref), ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "..."


@everything
def test_no_payload_is_left_in_a_span_or_a_log_record(name: str):
    it = sent(name)
    assert MARKER.search(json.dumps([*map(repr, it.spans), *map(repr, it.logs)])) or name in NO_CONTENT
    assert not MARKER.findall(stored_text(it))
    assert all(one.is_understood for one in [*it.lifted, *it.lifted_logs])


@every_sender
def test_the_context_of_each_call_is_what_the_model_was_sent(name: str):
    it = sent(name)
    calls = it.calls()
    assert len(calls) == len(it.requests) >= 3
    if name in NO_CONTEXT:
        assert not any(call.thread for call in calls), "it has become better: take it off the list"
        return
    same: list[bool] = []
    for call, body in zip(calls, it.requests, strict=True):
        given, asked = it.messages(call.thread), read_request(body)
        assert asked is not None
        expected = _without_system(asked.messages)
        same.append(_without_system(given) == expected)
        if name not in CONTEXT_DIFFERS:
            assert _without_system(given) == expected
        assert scene.SYSTEM in json.dumps(given) + str(it.value(call.system) if call.system else "")
    assert all(same) == (name not in CONTEXT_DIFFERS), "it has become better: take it off the list"


def _without_system(messages: list[Message]) -> list[Message]:
    """Some say the system's message apart, as instructions."""
    return [message for message in messages if message["role"] != "system"]


@every_sender
def test_the_same_conversation_has_the_same_user_and_tool_messages_whoever_sent_it(name: str):
    if name in NO_CONTENT or name in OWN_PROMPTS:
        return
    it = sent(name)
    third = it.calls()[2]  # what follows is said by another agent, after a handoff
    given = [message for message in it.messages(third.thread) if message["role"] in ("user", "tool")]
    texts = [part.get("content", part.get("response")) for message in given for part in message["parts"]]
    if name not in CONTEXT_DIFFERS:
        assert texts == [scene.QUESTION, scene.REPORT, scene.FOLLOW_UP]
    question, follow_up = (
        {"role": "user", "parts": [{"type": "text", "content": said}]} for said in (scene.QUESTION, scene.FOLLOW_UP)
    )
    if name not in CONTEXT_DIFFERS:
        assert (given[0], given[-1]) == (question, follow_up)
        [result] = given[1]["parts"]
        assert given[1].keys() == {"role", "parts"}
        assert result.keys() == {"type", "id", "response"}


@pytest.mark.parametrize(("mark", "made"), [("senders", table), ("kinds", kinds_table), ("pointing", pointing_table)])
def test_the_docs_say_what_each_sender_loses_and_what_kinds_there_are(
    mark: str, made: Callable[[], str], pytestconfig: pytest.Config
):
    page = Path(__file__).parents[3] / "docs" / "integrations.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, after = rest.partition(f"<!-- /{mark} -->")
    expected = f"{before}<!-- {mark} -->\n{made()}\n<!-- /{mark} -->{after}"
    if pytestconfig.getoption("--write-golden"):
        page.write_text(expected, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == expected, "run pytest --write-golden and review the difference"
