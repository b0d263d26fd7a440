"""A run in which everybody says the same hostile text: system, user, tool, model and its thinking; and then once more,
after a compression that dropped it."""

from typing import Any

from playhead.model import event as ev
from playhead.model.message import text_message
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Looks something up.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "count": {"type": "integer"}}},
        },
    }
]


def hostile_run(store: FakeStore, text: str, run: str = RUN) -> Any:
    """The record; seqs are the same whatever the text."""
    chat = Chat(store, f"You are careful. Today is 2024-05-15. {text}", run, TOOLS)
    chat.user(f"Please look up order 4711. {text}")
    chat.asks("look_up", {"query": text, "count": 7341}, text, said=f"I look it up. {text}", thinks=f"Goal: x. {text}")
    chat.asks("look_up", {"query": "W9502126", "count": 14}, {"status": "error", "text": text})
    pieces = [text[at : at + 16].strip() for at in range(0, len(text), 16)][:200]
    chat.asks("look_up", {"rows": [{"name": piece, "count": 20 + at, "sure": True} for at, piece in enumerate(pieces)]})
    chat.says(f"<reasoning>{text}")
    chat.user(f"And once more: {text}")
    before = chat.thread[:]
    chat.asks("look_up", {"query": "HAT 136", "text": text}, text)
    chat.thread = [before[0], text_message("user", "Summary of the conversation so far: something was looked up.")]
    thread = store.keep_thread([*before]), store.keep_thread(chat.thread)
    chat.add(
        ev.ContextCompressed,
        "k",
        origin="declared",
        strategy="summary",
        before=thread[0].ref,
        after=thread[1].ref,
        summary=thread[1].nodes[-1].message,
        summarised=tuple(node.message for node in thread[0].nodes[1:]),
        kept=(thread[0].nodes[0].message,),
    )
    chat.asks("look_up", {"query": text}, text)
    chat.says(f"Could you tell me your account again? {text}")
    return chat.done()
