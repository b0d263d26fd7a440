"""How two runs differ: runs made by hand, with their labels."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from playhead_collector.analysis.compare.comparison import answer_compare
from tests.support.readers.fake import RUN, FakeStore, Story, record_of

OTHER = "0badcafe" * 4
SYSTEM, GO = text_message("system", "You are of help."), text_message("user", "Where is order A1?")


class Two:
    """Two runs in one store; `told` writes them from a list of steps."""

    def __init__(self) -> None:
        self.store = FakeStore()

    def told(self, run: str, *steps: Any, call_id: str = "c", **row: Any) -> None:
        """A step is a question and what the model says to it, or a tool with its arguments and its result."""
        story, messages = Story(self.store), list[Message]()
        story.add(ev.RunStarted, "root", name="support")
        for n, step in enumerate(steps):
            span = f"{run[:4]}{n}"
            if step[0] == "tool":
                _, name, arguments, result = step
                if isinstance(result, Exception):
                    arguments = self.store.keep(arguments)
                    story.add(ev.ToolCalled, span, name=name, arguments=arguments)
                    story.add(ev.ToolFailed, span, name=name, error_type="TimeoutError", message=str(result))
                else:
                    story.tool_call(span, name, arguments, result)
            else:
                new, said = step
                output = _asks(said, f"{call_id}{n}") if isinstance(said, tuple) else text_message("assistant", said)
                story.model_call(span, messages, new, output)
                messages += [*new, output]
        story.add(ev.RunCompleted, "root", elapsed_ms=1.0)
        self.store.keep_run(_of(run, story), run, **row)

    async def compared(self, a: str = RUN, b: str = OTHER, limit: int = 100, after: int = 0) -> Any:
        return await answer_compare(record_of(self.store, a), record_of(self.store, b), limit, after)


def _of(run: str, story: Story) -> list[Any]:
    return [replace(event, run=run) for event in story.events]


def _asks(call: tuple[str, Any], call_id: str) -> Message:
    name, arguments = call
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]}


def found(text: str, call_id: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}


def lookup(call_id: str, result: Any = "late", said: str = "It is late.") -> list[Any]:
    return [
        ([SYSTEM, GO], ("look_up", {"order": "A1"})),
        ("tool", "look_up", {"order": "A1"}, result),
        ([found(str(result), f"{call_id}0")], said),
    ]


@pytest.fixture
def two() -> Two:
    return Two()


def ops(answer: Any) -> list[str]:
    return [pair["op"] for pair in answer["items"]]


async def test_runs_that_only_differ_in_ids_of_calls_are_the_same(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("d"), call_id="d")
    answer = await two.compared()
    assert (answer["parts"], answer["items"], answer["next_cursor"]) == (None, [], None)
    assert answer["counts"] == {"same": 3, "similar": 0, "changed": 0, "only_a": 0, "only_b": 0}
    assert answer["common"] == {"calls": 3, "a": 11, "b": 11, "shared": 0}
    assert answer["outcome"]["differs"] == []


async def test_a_run_beside_itself_has_no_difference(two: Two):
    two.told(RUN, *lookup("c"))
    answer = await two.compared(RUN, RUN)
    assert (answer["parts"], answer["outcome"]["differs"]) == (None, [])
    assert answer["common"]["shared"] == answer["a"]["events"]


values = st.sampled_from(["late", "lost", "here"])
steps = st.one_of(
    st.tuples(st.just("tool"), st.sampled_from(["look_up", "cancel"]), values, values),
    st.tuples(st.just("tool"), st.just("look_up"), values, values.map(TimeoutError)),
    st.tuples(values.map(lambda text: [text_message("user", text)]), values),
    st.tuples(values.map(lambda text: [text_message("user", text)]), st.tuples(st.just("look_up"), values)),
)
runs = st.lists(steps, max_size=10)
MIRRORED = {"only_a": "only_b", "only_b": "only_a"}


@settings(max_examples=60, deadline=None)
@given(runs)
async def test_no_run_differs_from_itself_or_from_a_run_that_did_the_same(steps: list[Any]):
    two = Two()
    two.told(RUN, *steps)
    two.told(OTHER, *steps, call_id="d")
    for other in (RUN, OTHER):
        answer = await two.compared(RUN, other)
        assert (answer["items"], answer["parts"], answer["outcome"]["differs"]) == ([], None, [])
        assert answer["counts"] == {"same": len(steps), "similar": 0, "changed": 0, "only_a": 0, "only_b": 0}


@settings(max_examples=60, deadline=None)
@given(runs, runs)
async def test_what_two_runs_differ_in_is_the_same_whichever_is_named_first(ours: list[Any], theirs: list[Any]):
    two = Two()
    two.told(RUN, *ours)
    two.told(OTHER, *theirs)
    one, other = await two.compared(RUN, OTHER), await two.compared(OTHER, RUN)
    assert {MIRRORED.get(op, op): n for op, n in other["counts"].items()} == one["counts"]
    assert other["common"] == {**one["common"], "a": one["common"]["b"], "b": one["common"]["a"]}
    assert other["outcome"]["differs"] == one["outcome"]["differs"]

    def pairs(answer: Any, a: str, b: str) -> list[Any]:
        return sorted((pair[a] or {}).get("seq", 0) * 1000 + (pair[b] or {}).get("seq", 0) for pair in answer["items"])

    assert pairs(other, "b", "a") == pairs(one, "a", "b")
    assert (one["parts"] is None) == (other["parts"] is None)
    assert (one["acts"] is None) == (other["acts"] is None)
    if one["parts"] and one["parts"]["a"] and one["parts"]["b"]:
        assert (other["parts"]["a"], other["parts"]["b"]) == (one["parts"]["b"], one["parts"]["a"])
        assert other["parts"]["differs"] == one["parts"]["differs"]


async def test_another_result_is_where_they_part_and_what_follows_is_paired(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", "lost", "It is lost, sorry."))
    answer = await two.compared()
    assert answer["common"]["calls"] == 1
    parts = answer["parts"]
    assert (parts["op"], parts["differs"]) == ("changed", ["result"])
    assert (parts["a"]["name"], parts["a"]["seq"], parts["b"]["seq"]) == ("look_up", 7, 7)
    assert parts["changes"] == [{"what": "result", "lines": ["-late", "+lost"]}]
    assert [pair["differs"] for pair in answer["items"]] == [["result"], ["messages", "answer"]]
    assert answer["outcome"]["differs"] == ["answer"]
    said = answer["outcome"]["answers"]
    assert [said[side]["parts"][0]["content"] for side in "ab"] == ["It is late.", "It is lost, sorry."]


async def test_a_tool_that_fails_instead_is_a_difference_of_status_and_error(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", RuntimeError("too slow")))
    parts = (await two.compared())["parts"]
    assert parts["differs"] == ["status", "error", "result"]
    assert parts["changes"][1] == {"what": "error", "lines": ["+TimeoutError: too slow"]}


async def test_other_arguments_are_told_by_their_paths(two: Two):
    two.told(RUN, ("tool", "look_up", {"order": "A1", "deep": True}, 1))
    two.told(OTHER, ("tool", "look_up", {"order": "A2", "deep": True}, 1))
    (change,) = (await two.compared())["parts"]["changes"]
    assert change == {"what": "arguments", "lines": ['-order: "A1"', '+order: "A2"']}


async def test_a_message_that_differs_is_shown_as_who_said_what(two: Two):
    two.told(RUN, ([SYSTEM, GO], "Fine."))
    two.told(OTHER, ([SYSTEM, text_message("user", "Where is order B2?")], "Fine."))
    parts = (await two.compared())["parts"]
    assert parts["differs"] == ["messages"]
    assert parts["changes"][0]["lines"] == ["-user: Where is order A1?", "+user: Where is order B2?"]


async def test_calls_of_one_run_only_stand_alone(two: Two):
    two.told(RUN, ("tool", "a", 1, 1), ("tool", "b", 1, 1), ("tool", "c", 1, 1))
    two.told(OTHER, ("tool", "a", 1, 1), ("tool", "x", 1, 1), ("tool", "c", 1, 1), ("tool", "d", 1, 1))
    answer = await two.compared()
    assert ops(answer) == ["only_a", "only_b", "same", "only_b"]
    assert answer["counts"] == {"same": 2, "similar": 0, "changed": 0, "only_a": 1, "only_b": 2}
    assert answer["parts"]["a"]["name"] == "b"
    assert answer["parts"]["b"] is None
    assert [change["what"] for change in answer["parts"]["changes"]] == ["arguments", "result"]


async def test_pairs_come_in_pages_that_join(two: Two):
    two.told(RUN, *(("tool", f"t{n}", n, n) for n in range(9)))
    two.told(OTHER, *(("tool", f"t{n}", n, -n) for n in range(9)))
    pages, after = list[Any](), 0
    while True:
        page = await two.compared(limit=2, after=after)
        pages += page["items"]
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    whole = await two.compared()
    assert pages == whole["items"]
    assert (len(pages), whole["common"]["calls"]) == (8, 1)


async def test_runs_without_calls_can_be_compared(two: Two):
    two.told(RUN)
    two.told(OTHER, ("tool", "a", 1, 1))
    answer = await two.compared()
    assert (answer["common"]["calls"], ops(answer)) == (0, ["only_b"])
    assert (await two.compared(RUN, RUN))["items"] == []


async def test_a_fork_shares_the_events_of_its_parent(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", "lost", "It is lost."))
    own, theirs = two.store.events_of[OTHER], two.store.events_of[RUN]
    two.store.events_of[OTHER] = [*theirs[:6], *own[6:]]
    answer = await two.compared()
    assert answer["common"] == {"calls": 1, "a": 5, "b": 5, "shared": 6}
    assert answer["parts"]["differs"] == ["result"]


# --- what they did, and in words --------------------------------------------------------------------------------------

ASK = [text_message("user", "The cheapest, please.")]
BOOKING = {"booking": "K7QM2X", "train": "RX172"}


def offered(said: str, train: str, *more: Any) -> list[Any]:
    booking = {**BOOKING, "train": train}
    return [
        ([SYSTEM, GO], ("find", {"to": "Brno"})),
        ("tool", "find", {"to": "Brno"}, "RX132 for 63, RX172 for 34"),
        *more,
        ([found("RX132 for 63, RX172 for 34", "c0")], said),
        (ASK, ("book", booking)),
        ("tool", "book", booking, "done"),
        ([found("done", "c3")], "It is booked."),
    ]


async def test_other_words_around_the_same_tools_are_no_difference_of_what_was_done(two: Two):
    def says(words: str) -> Message:
        call = {"type": "tool_call", "id": words, "name": "find", "arguments": {"to": "Brno"}}
        return {"role": "assistant", "parts": [{"type": "text", "content": words}, call]}

    for run, words in ((RUN, "One moment."), (OTHER, "I look for it.")):
        story = Story(two.store)
        story.add(ev.RunStarted, "root", name="support")
        story.model_call(f"{run[:4]}m", [], [SYSTEM, GO], says(words))
        story.tool_call(f"{run[:4]}t", "find", {"to": "Brno"}, "found")
        story.add(ev.RunCompleted, "root", elapsed_ms=1.0)
        two.store.keep_run(_of(run, story), run)
    answer = await two.compared()
    assert answer["counts"] == {"same": 1, "similar": 1, "changed": 0, "only_a": 0, "only_b": 0}
    assert (answer["parts"]["op"], answer["parts"]["differs"], answer["acts"]) == ("similar", ["answer"], None)
    assert answer["sentence"] == (
        "Both made the same tool call, and their answers are equal; what the models got differs at turn 1."
    )


async def test_other_answers_are_changed_whatever_they_say(two: Two):
    two.told(RUN, *offered("RX172 costs 34 euros.", "RX172"))
    two.told(OTHER, *offered("Take RX172, it is 34 euros.", "RX172"))
    answer = await two.compared()
    assert answer["counts"] == {"same": 5, "similar": 0, "changed": 1, "only_a": 0, "only_b": 0}
    assert (answer["parts"]["op"], answer["acts"], answer["more"]) == ("changed", None, [])
    assert answer["sentence"] == "Both made the same 2 tool calls; their answers differ from turn 2 on."


async def test_the_same_answer_to_other_input_is_similar(two: Two):
    two.told(RUN, ([SYSTEM, GO], "Fine."))
    two.told(OTHER, ([SYSTEM, text_message("user", "Where is order B2?")], "Fine."))
    answer = await two.compared()
    assert (answer["parts"]["op"], answer["more"]) == ("similar", [])
    assert answer["sentence"] == (
        "Neither called a tool, and their answers are equal; what the models got differs at turn 1."
    )


async def test_prose_in_arguments_is_no_difference_of_what_was_done(two: Two):
    def thinks(thought: str) -> Any:
        return ("tool", "think", {"thought": thought}, "")

    two.told(RUN, thinks("I have to find the cheapest of all trains."), ("tool", "find", "Brno", 1))
    two.told(OTHER, thinks("So now which one of the trains is cheapest?"), ("tool", "find", "Brno", 1))
    answer = await two.compared()
    assert ([pair["op"] for pair in answer["items"]], answer["acts"]) == (["similar", "same"], None)
    two.told(OTHER, thinks("short"), ("tool", "find", "Brno", 1))
    assert (await two.compared())["acts"]["number"] == 0


async def test_a_tool_that_only_one_of_them_called_is_where_they_part(two: Two):
    sums = [
        ([found("RX132 for 63, RX172 for 34", "c0")], ("calculate", "35 + 34")),
        ("tool", "calculate", "35 + 34", 69),
    ]
    two.told(RUN, *offered("RX132 costs 63 euros.", "RX132"))
    two.told(OTHER, *offered("RX172 costs 34 euros.", "RX172", *sums))
    answer = await two.compared()
    acts = answer["items"][answer["acts"]["number"]]["b"]
    assert (acts["shown"], acts["turn"], acts["did"]) == ("calculate(35 + 34)", 2, "called")
    assert answer["sentence"] == "They part at turn 2: B went on to call `calculate(35 + 34)`, A answered the user."
    assert answer["more"] == [
        "Until then both made the same tool call and got the same result.",
        "In the end they differ in `book`: `train` is `RX132` in A, `RX172` in B.",
    ]
    mirrored = await two.compared(OTHER, RUN)
    assert mirrored["sentence"] == "They part at turn 2: A went on to call `calculate(35 + 34)`, B answered the user."


async def test_other_arguments_are_where_they_part(two: Two):
    two.told(RUN, *offered("Fine.", "RX132"))
    two.told(OTHER, *offered("Fine.", "RX172"))
    answer = await two.compared()
    other = "`train` is `RX132` in A, `RX172` in B."
    assert answer["sentence"] == f"They part at turn 3: both called `book`, with other arguments: {other}"
    assert answer["more"] == ["Until then both made the same tool call and got the same result."]


async def test_a_tool_that_failed_in_one_of_them_is_where_they_part(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", RuntimeError("30 s")))
    answer = await two.compared()
    sentence = "They part at turn 1: `look_up(A1)` returned in A, failed with `TimeoutError: 30 s` in B."
    assert (answer["sentence"], answer["acts"]["number"]) == (sentence, 0)


async def test_another_result_is_said_and_is_nothing_that_they_did(two: Two):
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", "lost", "It is lost, sorry."))
    answer = await two.compared()
    assert answer["sentence"] == "They made the same tool calls; `look_up(A1)` returned something else at turn 1."
    assert (answer["acts"], answer["more"]) == (None, ["In the end their answers differ."])


async def test_equal_runs_runs_without_calls_and_runs_that_end_earlier_say_so(two: Two):
    two.told(RUN)
    two.told(OTHER, ("tool", "a", 1, 1), ("tool", "b", {"x": "a `b"}, 1))
    assert (await two.compared(RUN, RUN))["sentence"] == "Neither made a call."
    assert (await two.compared(OTHER, OTHER))["sentence"] == "Both did the same: 2 calls, all equal."
    answer = await two.compared(RUN, OTHER)
    assert answer["sentence"] == "They part at event 2 of B: B went on to call `a(1)`, A made no more calls."
    two.told(RUN, ("tool", "a", 1, 1))
    answer = await two.compared(RUN, OTHER)
    assert answer["sentence"].startswith(
        "They part at event 4 of B: B went on to call `b(a 'b)`, A made no more calls."
    )


async def test_arguments_are_shown_in_the_order_of_the_definition(two: Two):
    required = ["origin", "date"]
    schema = {"type": "object", "properties": {"date": {}, "origin": {}}, "required": required}
    tools = two.store.keep([{"type": "function", "function": {"name": "find", "parameters": schema}}])
    for run, date in ((RUN, "2026-05-24"), (OTHER, "2026-05-25")):
        story = Story(two.store)
        call = _asks(("find", {"date": date, "origin": "Graz"}), "c")
        story.model_call(f"{run[:4]}m", [], [SYSTEM, GO], call, tools=tools)
        story.tool_call(f"{run[:4]}t", "find", {"date": date, "origin": "Graz"}, "found")
        two.store.keep_run(_of(run, story), run)
    items = (await two.compared())["items"]
    assert [pair["a"]["shown"] for pair in items] == ["find(Graz, 2026-05-24)"] * 2


@settings(max_examples=60, deadline=None)
@given(runs, runs)
async def test_there_is_a_sentence_for_any_two_runs(ours: list[Any], theirs: list[Any]):
    two = Two()
    two.told(RUN, *ours)
    two.told(OTHER, *theirs)
    one, other = await two.compared(RUN, OTHER), await two.compared(OTHER, RUN)
    for answer in (one, other):
        for sentence in (answer["sentence"], *answer["more"]):
            assert sentence.endswith(".")
            assert "None" not in sentence
            assert " 0 " not in sentence
        if answer["acts"] is not None:
            pair = answer["items"][answer["acts"]["number"]]
            assert {name: answer["acts"][name] for name in pair} == pair
    if one["acts"] and one["acts"]["op"] in ("only_a", "only_b"):
        swapped = one["sentence"].translate(str.maketrans("AB", "BA"))
        assert sorted(re.findall(r"\w+", swapped)) == sorted(re.findall(r"\w+", other["sentence"]))
