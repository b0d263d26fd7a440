"""The scenarios that come with the mock model server, played in every provider's protocol that it speaks."""

from typing import Any

import pytest

from playhead.testing import MockModelServer, scenarios, text
from playhead.testing.__main__ import main
from tests.support.provider_chats import CHATS
from tests.support.provider_chats.chat import ProviderChat

TOOLS = {
    "tool_calling": ("get_weather", "convert"),
    "error_recovery": ("book_room",),
    "orchestrator": ("delegate",),
    "code_assistant": ("search_files", "read_file", "edit_file", "run_tests"),
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
    "evaluator_optimizer": [
        ("You write.", [("a lamp", "very good lamp"), ("FAIL: better, please", "walnut")]),
        ("You evaluate.", [("A walnut desk lamp with warm light, made for reading at night.", "PASS")]),
        ("You evaluate.", [("Our lamp is good", "FAIL")]),
    ],
    "tool_calling": [("", [("Paris or Rome?", "Rome is warmer")])],
    "error_recovery": [("", [("Book a room.", "Room B is booked")])],
    "orchestrator": [
        ("You plan.", [("A heat pump?", "saves about 6000")]),
    ],
    "code_assistant": [
        ("", [("Why is it wrong?", "multiplies"), ("Fix it.", "Done"), ("Run the tests.", "All tests pass")]),
    ],
}


def tool_result(name: str, arguments: dict[str, Any]) -> str:
    if name == "book_room":
        taken = arguments.get("room") == "A" and "day" in arguments
        return "room A is taken" if taken else "booked" if arguments else "arguments are not JSON"
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


def test_a_denied_edit_leaves_the_file_as_it_is():
    server = MockModelServer(scenario="code_assistant")
    with CHATS["openai chat"](server, "", TOOLS["code_assistant"]) as chat:
        assert [call.name for call in chat.say("Fix it.").calls] == ["edit_file"]
        assert "left the file as it is" in chat.give_results(["denied: no"]).text


def test_every_scenario_has_a_conversation_and_says_what_it_knows():
    assert set(scenarios.NAMES) == set(CONVERSATIONS)
    assert all(scenarios.load(name).description for name in scenarios.NAMES)


def test_rules_that_were_given_before_go_first_and_otherwise_is_last():
    server = MockModelServer()
    server.play_scenario("routing")
    server.otherwise(text("something else"))
    with CHATS["openai chat"](server, "", ()) as chat:
        assert chat.say("hello").text == "something else"


def test_an_unknown_scenario_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError, match="no scenario 'chess'; choose one of code_assistant, error_recovery"):
        MockModelServer(scenario="chess")
    with pytest.raises(SystemExit):
        main(["--scenario", "chess"])
    assert "invalid choice: 'chess'" in capsys.readouterr().err


def test_the_command_lists_the_scenarios(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert [name for name in ("--scenario", *scenarios.NAMES) if name not in shown] == []
