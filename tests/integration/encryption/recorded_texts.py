"""One record of each kind, with a text of its own in every place that users fill: sent to a collector, or stored."""

from collections.abc import Sequence
from typing import Any

from playhead.client import Client
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.message import Message, message_contents, text_message
from playhead.model.span import STATUS_ERROR
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import Recorder, tool_call

RUNS = 20
PLACES = (
    "system", "prompt", "reply", "arguments", "result", "error", "reasoning", "state", "step", "attribute", "event",
    "run_name", "tag", "session", "user", "recorded_comment", "recorded_label", "score_comment", "score_label",
    "score_author", "note_text", "note_label", "note_author", "conversation", "scope", "record", "message",
    "promise_key", "promise_details", "answer_reason", "answer_by", "view_name", "view_query", "upload",
)  # fmt: skip
TEXTS = {place: f"zq{n:02d}{place.replace('_', '')}wx" for n, place in enumerate(PLACES)}
"""A text for each place, which is one word, and compresses badly."""


def run_id(number: int) -> str:
    return f"{0xABC00000 + number:08x}" * 4


def recorded(number: int) -> Recorder:
    """A run of two model calls and a tool that fails; the first one has all texts, the others only most."""
    text = TEXTS
    recorder = Recorder(run_id(number), name=f"{text['run_name']} {number}", session=text["session"])
    recorder.root.attributes |= {
        names.RUN_TAGS: ["beta", text["tag"]],
        names.USER: text["user"],
        names.AGENT_NAME: "support",
        "shop.basket": text["attribute"],
    }
    messages: list[Message] = [
        text_message("system", f"You are of help to {text['system']}."),
        text_message("user", f"Where is {text['prompt']}, and where is number {number}?"),
    ]
    asked = tool_call("c1", "search", where=text["arguments"], number=number)
    recorder.model(messages, asked, **{names.REASONING_REF: recorder.keep(f"I look for {text['reasoning']}.")})
    recorder.tool("search", {"where": text["arguments"], "number": number}, [f"it is in {text['result']}"])
    step = recorder.begin("step", f"look into {text['step']}")
    step.status, step.status_message = STATUS_ERROR, f"ValueError: {text['error']}"
    recorder.end(step, **{names.ERROR_TYPE: "ValueError"})
    recorder.change("found", f"{text['state']} {number}")
    scored = {
        names.EVALUATION_NAME: "relevance",
        names.EVALUATION_VALUE: 0.25,
        names.EVALUATION_LABEL: text["recorded_label"],
        names.EVALUATION_EXPLANATION: f"since {text['recorded_comment']}",
    }
    recorder.say(names.EVALUATION, **scored)
    recorder.say("shop.opened", **{"shop.place": text["event"]})
    result = {"type": "tool_call_response", "id": "c1", "response": text["result"]}
    answered: Message = {"role": "tool", "parts": [result]}
    recorder.model([*messages, asked, answered], text_message("assistant", f"It is in {text['reply']}."))
    recorder.root.attributes[names.ERROR_TYPE] = "ValueError"
    recorder.root.status, recorder.root.status_message = STATUS_ERROR, f"ValueError: {text['error']}"
    return recorder


async def store_runs(store: PostgresStore, project_id: int) -> None:
    for number in range(RUNS):
        await store.spans.ingest(project_id, recorded(number).batch())


def send_the_rest(client: Client, http: Any) -> None:
    """Scores, notes, promises, conversations, views and a content, as programs and people send them."""
    text, run = TEXTS, run_id(0)
    client.score(
        run, "quality", 0.25, label=text["score_label"], comment=f"since {text['score_comment']}",
        author=text["score_author"], id="s1", time="2026-01-01T00:00:00Z",
    )  # fmt: skip
    client.score(run, "mood", text["score_label"], id="s2", time="2026-01-01T00:00:01Z")
    client.add_note(
        run, f"look at {text['note_text']}", label=text["note_label"], author=text["note_author"], id="n1",
        time="2026-01-01T00:00:00Z",
    )  # fmt: skip
    client.open_promise(
        "a" * 32, "approval", text["promise_key"], run=run, action="refund", details={"why": text["promise_details"]}
    )
    client.open_promise("b" * 32, "approval", "k", run=run_id(1), action=f"delete {text['promise_details']}")
    client.answer_promise("a" * 32, "approved", by=text["answer_by"], reason=f"since {text['answer_reason']}")
    client.save_view(text["view_name"], f"user={text['view_query']}", author="eve")
    client.save_view("another", "status=failed")
    upload = content_of({"only": text["upload"]})
    message = text_message("user", f"I am {text['message']}")
    contents = message_contents(message)
    thread = ThreadExtension(None, (contents[0].ref,))
    packed = encode_pack(Pack((upload, *contents), (thread,)))
    http.post("/v1/content", content=packed, headers={"content-type": PACK}).raise_for_status()
    for n, chat in enumerate(_chats()):
        client.save_conversation(chat, str(thread.ref), revision=0, scope=f"{text['scope']}/{n}")
    client.save_conversation(
        "langgraph-thread/" + text["conversation"], revision=0, scope=text["scope"],
        records=[f'{{"said": "{text["record"]}", "ref": "{upload.ref}"}}'],
    )  # fmt: skip


def _chats() -> Sequence[str]:
    return [f"chat with {TEXTS['conversation']}", "another chat"]
