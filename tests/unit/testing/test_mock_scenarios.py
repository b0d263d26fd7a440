"""The scenarios that come with the mock model server, played in every provider's protocol that it speaks."""

from typing import Any

import pytest

from playhead.testing import MockModelServer, Script, contains, scenarios, text
from playhead.testing.__main__ import main
from playhead.testing.answers import AssistantMessage, Delayed
from tests.support.provider_chats import CHATS
from tests.support.provider_chats.chat import ProviderChat

TOOLS = {
    "tool_calling": ("read_file", "edit_file", "search"),
    "errors": ("look_up_order",),
    "error_recovery": ("book_room",),
    "orchestrator": ("delegate",),
    "code_assistant": ("search", "read_file"),
}
# Scenario → conversations: a system prompt and what the user says, turn by turn, with what the model then says.
CONVERSATIONS: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "prompt_chaining": [
        ("", [("Extract the facts", "Northwind")]),
        ("", [("Summarise this", "24 months"), ("And translate it", "24 Monate")]),
    ],
    "routing": [
        ("Classify the ticket.", [("I was charged twice", "billing")]),
        ("Classify the ticket.", [("It crashes", "technical")]),
        ("Classify the ticket.", [("When are you open?", "general")]),
        ("You answer billing questions.", [("I was charged twice", "on its way back")]),
    ],
    "parallel_review": [
        ("Look at security.", [("a change", "high")]),
        ("Combine the findings.", [("findings", "Request changes")]),
    ],
    "document_processing": [
        ("You extract figures.", [("a report", "412")]),
        ("You analyse figures.", [("figures", "BUY")]),
        ("You format an analysis.", [("an analysis", "Executive Summary")]),
    ],
    "ticket_routing": [
        ("Classify the ticket.", [("I was charged twice", '"billing"')]),
        ("Classify the ticket.", [("It crashes", '"technical"')]),
        ("Classify the ticket.", [("When are you open?", '"general"')]),
        ("You answer billing questions.", [("I was charged twice", "on its way back")]),
        ("You answer technical questions.", [("It crashes", "4.2.1")]),
        ("You answer general questions.", [("When are you open?", "Monday")]),
    ],
    "code_review": [
        ("Look at security.", [("a change", "sql_injection")]),
        ("Look at performance.", [("a change", "query_per_row")]),
        ("Look at style.", [("a change", "naming")]),
    ],
    "evaluator_optimizer": [
        ("You write.", [("a lamp", "very good lamp"), ("It says good twice, and nothing concrete.", "walnut")]),
        ("You evaluate.", [("A walnut desk lamp with warm light, made for reading at night.", '"passed": true')]),
        ("You evaluate.", [("Our lamp is good", '"passed": false')]),
    ],
    "tool_calling": [("", [("Read it.", "Done"), ("Edit it.", "Done"), ("Search for it.", "Done")])],
    "errors": [("", [("Where is my order?", "on its way"), ("How many were sold?", "Thirty")])],
    "error_recovery": [("", [("Book a room.", "Room B is booked")])],
    "orchestrator": [
        ("You plan.", [("A heat pump?", "saves about 6000")]),
    ],
    "code_assistant": [("", [("Why is the discount wrong?", "multiplies")])],
}


WITHOUT_REASONING = {"error_recovery", "orchestrator", "parallel_review", "prompt_chaining", "routing"}


def tool_result(name: str, arguments: dict[str, Any]) -> str:
    if name == "book_room":
        taken = arguments.get("room") == "A" and "day" in arguments
        return "room A is taken" if taken else "booked" if arguments else "arguments are not JSON"
    if name == "look_up_order":
        return "status: shipped" if arguments else "error: the arguments are no object"
    return "a result"


@pytest.mark.parametrize("provider", CHATS)
@pytest.mark.parametrize("name", scenarios.NAMES)
def test_a_scenario_plays_in_every_protocol(name: str, provider: str):
    server = MockModelServer(scenario=name)
    for system, turns in CONVERSATIONS[name]:
        with CHATS[provider](server, system, TOOLS.get(name, ())) as chat:
            for said, expected in turns:
                assert expected in converse(chat, said)


def converse(chat: ProviderChat, said: str) -> str:
    """The model's answer after all tools that it asked for have been called."""
    answer = chat.say(said)
    for _ in range(10):
        if not answer.calls and answer.text:
            break
        if not answer.calls:  # Gemini gives no malformed call, but says that there was one
            answer = chat.say("Please go on.")
            continue
        answer = chat.give_results([tool_result(call.name, call.arguments) for call in answer.calls])
    return answer.text


@pytest.mark.parametrize("provider", CHATS)
def test_each_request_of_tool_calling_asks_for_one_tool(provider: str):
    server = MockModelServer(scenario="tool_calling")
    with CHATS[provider](server, "", TOOLS["tool_calling"]) as chat:
        for said, tool in (("Edit it.", "edit_file"), ("Read it.", "read_file"), ("Search for it.", "search")):
            assert [call.name for call in chat.say(said).calls] == [tool]
            assert chat.give_results(["done"]).calls == []


def test_a_look_that_is_denied_is_said():
    server = MockModelServer(scenario="code_assistant")
    with CHATS["openai chat"](server, "", TOOLS["code_assistant"]) as chat:
        assert [call.name for call in chat.say("Why?").calls] == ["search"]
        assert "not allowed" in chat.give_results(["denied: no"]).text


def test_every_scenario_has_a_conversation_and_says_what_it_knows():
    assert set(scenarios.NAMES) == set(CONVERSATIONS)
    assert all(scenarios.load(name).description for name in scenarios.NAMES)


@pytest.mark.parametrize("name", sorted(set(scenarios.NAMES) - WITHOUT_REASONING))
def test_every_answer_of_a_scenario_has_reasoning(name: str):
    answers = [line.answer for line in scenarios.load(name).lines]
    messages = [answer.answer if isinstance(answer, Delayed) else answer for answer in answers]
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    assert len(said) >= 3
    assert [message for message in said if not message.thinking] == []


def test_rules_that_were_given_before_go_first_and_otherwise_is_last():
    server = MockModelServer()
    server.play_scenario("routing")
    server.otherwise(text("something else"))
    with CHATS["openai chat"](server, "", ()) as chat:
        assert chat.say("hello").text == "something else"


def said_by(server: MockModelServer, words: str, system: str = "") -> str:
    with CHATS["openai chat"](server, system, ()) as chat:
        return chat.say(words).text


def test_scripts_are_merged_and_the_first_comes_first():
    hello = Script(description="hello").when(contains("hello"), text("mine")).otherwise(text("the first default"))
    merged = hello + scenarios.load("routing") + Script().otherwise(text("the second default"))
    server = MockModelServer(script=merged)
    assert said_by(server, "hello", "Classify.") == "mine"
    assert said_by(server, "an invoice", "Classify.") == "billing"
    assert said_by(server, "what?") == "the first default"
    assert merged.description.startswith("hello; a system prompt that says classify")
    assert len(hello.lines) == 1  # a script is a value


def test_rules_of_an_own_script_come_before_those_of_a_scenario():
    server = MockModelServer(scenario="routing", script=Script().when(contains("invoice"), text("mine")))
    assert said_by(server, "an invoice", "Classify.") == "mine"
    assert said_by(server, "a refund", "Classify.") == "billing"


def test_the_default_answer_is_an_option_and_counts_before_that_of_a_script():
    script = Script().otherwise(text("of the script"))
    assert said_by(MockModelServer(script=script), "what?") == "of the script"
    server = MockModelServer(script=script, default=text("the option"))
    server.play_script(script)
    assert said_by(server, "what?") == "the option"
    server.otherwise(text("said later"))
    assert said_by(server, "what?") == "said later"


def test_a_limit_of_uses_is_counted_by_each_server():
    script = Script().when(contains("a"), text("once"), times=1).otherwise(text("then"))
    for _ in range(2):
        server = MockModelServer(script=script)
        assert [said_by(server, "a"), said_by(server, "a")] == ["once", "then"]
    with pytest.raises(ValueError, match="at least once"):
        Script().when(contains("a"), text("never"), times=0)


def test_an_unknown_scenario_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError, match="no scenario 'chess'; choose one of code_assistant, code_review"):
        MockModelServer(scenario="chess")
    with pytest.raises(SystemExit):
        main(["--scenario", "chess"])
    assert "invalid choice: 'chess'" in capsys.readouterr().err


def test_the_command_lists_the_scenarios(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert [name for name in ("--scenario", *scenarios.NAMES) if name not in shown] == []
