"""The compaction table: what computes in it, on a small conversation that was made up; that the page has what was
measured."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openai
import pytest

from benchmarks.compaction import others
from benchmarks.compaction.conversations import CutConversation, cut_at
from benchmarks.compaction.counting import Outcome, outcome
from benchmarks.compaction.measuring import measure, summed
from benchmarks.compaction.method import CompressionFailed
from benchmarks.compaction.others import OtherMethod, Program, ProgramEnded
from benchmarks.compaction.ours import DEFAULT_KEEP, KEEP, own_methods
from benchmarks.compaction.summariser import NOTHING, RuleSummariser, summary_of
from benchmarks.compaction.table import PAGE, RESULTS, SHARES, merged, tables, with_tables
from playhead.context import Compression, Keep
from playhead.testing import MockModelServer, Trajectory

ROOT = Path(__file__).parents[3]
SYSTEM = {"role": "system", "content": "You change bookings. The desk number is 4711-DESK."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


MESSAGES = (
    SYSTEM,
    user("Hi! Please move my booking QX7R2P to the 14th of June. My card ends in 993321."),
    agent("Let me look at the booking first."),
    user("Thank you. My frequent flyer number is FF-88123."),
    call("same", "get_booking", booking="QX7R2P"),
    result("same", '{"booking": "QX7R2P", "flight": "HAT-204", "seat": "12C"}'),
    agent("You are on flight HAT-204. May I move it?"),
    user("Yes, please go on."),
    call("same", "move_booking", booking="QX7R2P", number="FF-88123"),
    result("same", '{"moved": "QX7R2P"}'),
    agent("It is done: QX7R2P is on flight HAT-204."),
)
RUN = Trajectory("made-up", 0, MESSAGES)


# --- the cut ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "turn"), [(0.1, 2), (0.3, 4), (0.6, 8), (1.0, 10)])
def test_a_run_is_cut_before_a_call_of_the_model(share: float, turn: int):
    cut = cut_at(RUN, share)
    assert cut.system == SYSTEM["content"]
    assert [message["role"] for message in cut.before] == [message["role"] for message in MESSAGES[1:turn]]
    assert len(cut.later) == len(MESSAGES) - turn
    assert cut.later[0]["role"] == "assistant"


def test_two_calls_with_one_id_get_ids_of_their_own():
    cut = cut_at(RUN, 1.0)
    asked = [call["id"] for message in cut.before for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in cut.before if message["role"] == "tool"]
    assert asked == answered == ["call_1", "call_2"]


def test_a_run_without_a_model_call_is_refused():
    with pytest.raises(ValueError, match="made-up/1 does not begin"):
        cut_at(Trajectory("made-up", 1, (SYSTEM, user("Hello?"))), 0.3)


# --- facts -----------------------------------------------------------------------------------------------------------

CUT = cut_at(RUN, 0.6)


def test_nothing_is_lost_of_what_stays_as_it_is():
    found = outcome(CUT, CUT.before)
    assert (found.lost, found.used, found.is_changed) == (0, 0, False)
    assert found.facts == 5  # booking, date, card, number of the flyer, flight
    assert found.tokens_before == found.tokens_after > 0


def test_a_lost_fact_was_used_if_a_later_answer_or_call_says_it():
    found = outcome(CUT, CUT.before[-1:])
    assert found.lost == found.facts == 5
    assert found.used == 3  # later, the agent says neither the card nor the date
    assert found.is_changed
    assert found.tokens_after < found.tokens_before


def test_what_a_summary_says_is_kept():
    without = outcome(CUT, CUT.before[-1:])
    with_summary = outcome(CUT, [user("Summary: booking QX7R2P, flyer FF-88123, HAT-204"), CUT.before[-1]])
    assert with_summary.used == 0
    assert with_summary.lost == without.lost - 3


def test_what_the_system_prompt_says_is_kept():
    cut = CutConversation("x", str(SYSTEM["content"]), [user("I called 4711-DESK and 5822-DESK.")], [agent("Yes.")])
    assert outcome(cut, []).lost == 1


def test_a_fact_that_comes_back_before_it_is_used_is_not_counted_as_used():
    told_again = [user("My booking is QX7R2P."), *CUT.later]
    cut = CutConversation(CUT.run, CUT.system, CUT.before, told_again)
    assert outcome(cut, CUT.before[-1:]).used == 2


def test_a_changed_form_of_a_message_is_no_change():
    message = {**MESSAGES[4], "content": ""}
    cut = CutConversation("x", "", [MESSAGES[3], MESSAGES[4]], [agent("Yes.")])
    assert not outcome(cut, [MESSAGES[3], message]).is_changed


def test_outcomes_are_added_up():
    each = [Outcome(10, 4, 2, 100, 40, True), Outcome(5, 1, 0, 50, 45, True), Outcome(3, 0, 0, 20, 20, False)]
    found = summed(each, calls=7, failed=1)
    assert (found.conversations, found.changed, found.hit, found.failed, found.calls) == (3, 2, 1, 1, 7)
    assert (found.facts, found.lost, found.used) == (18, 5, 2)
    assert (found.tokens_before, found.tokens_after) == (170, 105)


# --- the summariser --------------------------------------------------------------------------------------------------


def shown(messages: Sequence[dict[str, Any]]) -> str:
    return json.dumps(messages)


def test_a_summary_has_the_first_sentence_of_each_message_that_was_shown():
    assert summary_of(CUT.before, shown([*CUT.before])).splitlines() == [
        "user: Please move my booking QX7R2P to the 14th of June.",
        "assistant: Let me look at the booking first.",
        "user: My frequent flyer number is FF-88123.",
        'called get_booking({"booking": "QX7R2P"})',
        'tool: {"booking": "QX7R2P", "flight": "HAT-204", "seat": "12C"}',
        "assistant: You are on flight HAT-204.",
        "user: Yes, please go on.",
    ]


def test_a_summary_says_nothing_that_was_not_shown():
    assert summary_of(CUT.before, shown([CUT.before[1]])) == "assistant: Let me look at the booking first."
    assert summary_of(CUT.before, "Summarise the conversation.") == NOTHING


@pytest.mark.parametrize("form", [json.dumps, repr, str, lambda text: text.replace('"', "&quot;")])
def test_how_a_message_is_escaped_makes_no_difference(form: Any):
    message = result("1", '{"name": "Ann",\n "city": "Ulm"}')
    assert summary_of([message], form(message["content"])) != NOTHING


def test_a_line_and_a_summary_have_a_limit():
    long = [user(f"Number {number} " + "word " * 60) for number in range(200)]
    lines = summary_of(long, shown(long)).splitlines()
    assert max(map(len, lines)) <= 100 + len("user: ")
    assert 15 < len(lines) < 25  # 500 tokens


# --- strategies ------------------------------------------------------------------------------------------------------


def test_each_strategy_of_ours_leaves_less_and_asks_the_same_summariser():
    # Long enough for a summary to be shorter, with more than three results, which end with a fact.
    steps = [
        message
        for number in range(8)
        for message in (
            user(f"Question {number} about booking QX{number}R2P. " + "Please look at it closely. " * 8),
            call(f"c{number}", "get_booking", booking=f"QX{number}R2P"),
            result(f"c{number}", json.dumps({"text": "nothing special " * 20, "seat": f"SEAT-{number}"})),
            agent(f"I looked at QX{number}R2P. " + "All is as it should be. " * 8),
        )
    ]
    cut = cut_at(Trajectory("made-up", 2, (SYSTEM, *steps)), 0.9)
    summariser = RuleSummariser()
    server = MockModelServer()
    server.otherwise(summariser.answer)
    client = openai.OpenAI(base_url="http://model/v1", api_key="none", http_client=server.http_client())
    calls: dict[str, int] = {}
    for method in own_methods(client):
        found = measure(method, [cut], summariser)
        assert (found.changed, found.failed) == (1, 0), method.title
        assert found.tokens_after < found.tokens_before
        assert 0 < found.lost < found.facts
        calls[method.title] = found.calls
    assert list(calls.values()) == [1, 1, 0, 1, 0, 1], calls


def test_the_defaults_are_those_of_the_policy():
    assert Compression().keep == Keep(share=KEEP)
    assert DEFAULT_KEEP == KEEP / 0.7
    assert Compression().threshold == 0.7


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from jobs import serve

def compact(system, messages, keep):
    if len(messages) == 1:
        raise ValueError("too short")
    if len(messages) == 2:
        sys.exit("it broke")
    print("noise")
    return messages[-round(keep * len(messages)):]

serve("1.2.3", compact)
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program like those of other projects, in an environment with this interpreter."""
    (tmp_path / "small" / "bin").mkdir(parents=True)
    (tmp_path / "small" / "bin" / "python").symlink_to(sys.executable)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=str(ROOT / "benchmarks" / "compaction" / "programs")), encoding="utf-8")
    monkeypatch.setattr(others, "_ENVIRONMENTS", tmp_path)
    return Program("Other", "window", "small", str(program), keep=0.3)


def test_a_program_of_another_project_gets_the_messages_and_says_what_is_left(other: Program):
    assert not other.is_installed
    with OtherMethod(other, "http://model") as method:
        assert (method.project, method.title, method.version) == ("Other", "window", "1.2.3")
        assert method.compress(CUT) == CUT.before[-2:]
        with pytest.raises(CompressionFailed, match="ValueError: too short"):
            method.compress(CutConversation("x", "", [MESSAGES[1]], []))
        assert method.compress(CUT) == CUT.before[-2:]


def test_what_cannot_be_compressed_counts_as_unchanged(other: Program):
    cut = CutConversation("x", "", [MESSAGES[1]], [MESSAGES[2]])
    with OtherMethod(other, "http://model") as method:
        found = measure(method, [cut, CUT], RuleSummariser())
    assert (found.conversations, found.failed, found.changed) == (2, 1, 1)


def test_a_program_that_ends_too_early_is_an_error_with_what_it_said_last(other: Program):
    with OtherMethod(other, "http://model") as method, pytest.raises(ProgramEnded, match="it broke"):
        method.compress(CutConversation("x", "", [MESSAGES[1], MESSAGES[2]], []))


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_tables_of_the_page_are_those_that_were_measured():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, results) == page, "run `make compaction`"
    for share in SHARES:
        figures = [each["figures"][f"{share:.0%}"] for each in results["methods"]]
        assert {(each["conversations"], each["facts"], each["tokens_before"]) for each in figures} == {
            (200, figures[0]["facts"], figures[0]["tokens_before"])
        }


def test_a_table_has_the_figures_of_each_method_and_names_what_was_not_measured():
    figures = {
        "conversations": 4, "changed": 3, "facts": 200, "lost": 50, "used": 6, "hit": 2, "tokens_before": 5_000,
        "tokens_after": 3_000, "calls": 3, "failed": 1,
    }  # fmt: skip
    nothing = {**figures, "lost": 0, "used": 0, "hit": 0, "tokens_after": 5_000, "failed": 0}
    method: Any = {"project": "One", "title": "`A`", "version": "1.0", "figures": {"30%": figures, "60%": nothing}}
    text = tables({"methods": [method], "not_measured": ["Two"]})
    assert "| One | `A` | 3 (1 failed) | 150 (75%) | 50 | 6 | 2 | 2,000 (40%) | 3.0 | 3 |" in text
    assert "| One | `A` | 3 | 200 (100%) | 0 | 0 | 0 | 0 (0%) | - | 3 |" in text
    assert "Measured: One 1.0." in text
    assert "Not measured, since not installed: Two." in text


def test_a_project_that_is_measured_again_keeps_its_place():
    def one(project: str, version: str) -> Any:
        return {"project": project, "title": "`A`", "version": version, "figures": {}}

    old: Any = {
        "methods": [one("A", "1"), one("A", "1"), one("B", "1"), one("C", "1")],
        "not_measured": ["D (needs E)"],
    }
    new: Any = {"methods": [one("B", "2"), one("B", "2"), one("D", "2")], "not_measured": []}
    found = merged(old, new)
    assert [(each["project"], each["version"]) for each in found["methods"]] == [
        ("A", "1"), ("A", "1"), ("B", "2"), ("B", "2"), ("C", "1"), ("D", "2"),
    ]  # fmt: skip
    assert found["not_measured"] == []


def test_without_recorded_runs_there_is_a_message(tmp_path: Path):
    env = {**os.environ, "PLAYHEAD_TRAJECTORIES": str(tmp_path / "nothing")}
    command = [sys.executable, "-m", "benchmarks.compaction", "--check"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "PLAYHEAD_TRAJECTORIES has to name a folder" in done.stderr
    assert "Traceback" not in done.stderr
