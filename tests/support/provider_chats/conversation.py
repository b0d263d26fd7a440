"""One conversation with everything in it: a system prompt, one tool, two tools at once, a text beside a tool call.

For each provider the same: run it with a chat of that provider, and compare the messages that were recorded.
"""

from collections.abc import Callable, Sequence

import playhead
from playhead.model.thread import node_ref
from playhead.testing import MockModelServer, contains, text, tool_call
from tests.support.journal_reader import Journaled
from tests.support.provider_chats.chat import ProviderChat

SYSTEM = "You are brief."
MakeChat = Callable[[MockModelServer, str, Sequence[str]], ProviderChat]


def hold(make_chat: MakeChat) -> None:
    """Six requests, in one run."""
    server = MockModelServer()
    server.when(contains("A1", last=True), tool_call("lookup", {"order": "A1"}, call_id="call_1"))
    second = tool_call("lookup", {"order": "A2"}, call_id="call_2")
    server.when(contains("others", last=True), second + tool_call("lookup", {"order": "A3"}, call_id="call_3"))
    server.when(contains("Friday", last=True), text("I look again.") + tool_call("lookup", {}, call_id="call_4"))
    server.otherwise(text("It is delayed."))
    with playhead.observe("conversation"), make_chat(server, SYSTEM, ("lookup",)) as chat:
        chat.say("Where is A1?")
        chat.give_results(["delayed until Thursday"])
        chat.say("And the others?")
        chat.give_results(["sent", "lost"])
        chat.say("Not on Friday?")
        chat.give_results(["no"])


def message_refs(seen: Journaled, thread: str) -> list[str]:
    """Refs of a thread's messages, first to last."""
    known: dict[str, tuple[str | None, str]] = {}
    for extension in seen.threads:
        parent = extension.parent
        for message in extension.messages:
            node = node_ref(message, parent)
            known[node] = (parent, str(message))
            parent = node
    found: list[str] = []
    at: str | None = thread
    while at is not None:
        at, ref = known[at]
        found.insert(0, ref)
    return found
