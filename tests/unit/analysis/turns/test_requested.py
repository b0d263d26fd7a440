"""Which answer asked for a tool call, in long runs: requests are found, not searched for one after the other."""

from collections.abc import Iterator

from playhead.model import event as ev
from playhead.model.json_value import JsonValue
from playhead_collector.analysis.turns.outline import MadeCall, ModelCall
from playhead_collector.analysis.turns.requested import REACH, AskedCall, assign

AGENT = "surveyor"


class Counted(list[AskedCall]):
    """A list that counts how often it was gone through."""

    times = 0

    def __iter__(self) -> Iterator[AskedCall]:
        self.times += 1
        return super().__iter__()


def model_at(seq: int, number: int, parent: str = "p") -> ModelCall:
    begin = ev.LlmCalled(id=f"m{seq}", run="r", seq=seq, time_ns=seq, span=f"m{seq}", actor=AGENT, parent=parent)
    return ModelCall(begin, number)


def tool_at(seq: int, name: str = "read", parent: str = "p") -> MadeCall:
    return MadeCall(
        ev.ToolCalled(
            id=f"t{seq}", run="r", seq=seq, time_ns=seq, span=f"t{seq}", actor=AGENT, parent=parent, name=name
        )
    )


def test_the_requests_of_a_long_run_are_gone_through_once():
    """A page that begins amid a turn has tool calls whose answer stands before it."""
    models = [model_at(1_000 + 10 * number, number + 1) for number in range(200)]
    requests = Counted(AskedCall(model, model.begin.seq + 2, "read", None, {"n": model.number}) for model in models)
    before = [tool_at(seq) for seq in range(900, 950)]
    asked = [tool_at(model.begin.seq + 4) for model in models]
    made: list[tuple[MadeCall, JsonValue]] = [(tool, {"n": -1}) for tool in before]
    made.extend((tool, {"n": model.number}) for tool, model in zip(asked, models, strict=True))
    assert assign(requests, made) == before
    assert [request.made for request in list.__iter__(requests)] == asked
    assert requests.times <= 2


def test_what_has_only_the_name_in_common_is_of_the_last_answer_of_its_caller():
    first, last, of_another = model_at(10, 1), model_at(20, 2), model_at(30, 3, parent="q")
    old = AskedCall(first, 12, "read", None, {"n": 1})
    one, two = AskedCall(last, 22, "read", None, {"n": 2}), AskedCall(last, 23, "write", None, {"n": 3})
    other = AskedCall(of_another, 32, "read", None, {"n": 4})
    tool, again = tool_at(40), tool_at(41)
    assert assign([old, one, two, other], [(tool, {"n": 9}), (again, {"n": 9})]) == [again]
    assert (old.made, one.made, two.made, other.made) == (None, tool, None, None)


def test_of_many_equal_requests_the_latest_open_one_within_reach_was_made():
    models = [model_at(REACH * number + 1, number + 1) for number in range(5)]
    requests = [AskedCall(model, model.begin.seq + 2, "next_page", None, {}) for model in models]
    last = requests[-1].seq
    tool, second, third = (tool_at(last + each, "next_page") for each in (1, 2, 3))
    assert assign(requests, [(tool, {}), (second, {}), (third, {})]) == [second, third]
    assert [request.made for request in requests] == [None, None, None, None, tool]
    near = tool_at(requests[1].seq + REACH, "next_page")
    assert assign(requests, [(near, {})]) == []
    assert requests[1].made is near
