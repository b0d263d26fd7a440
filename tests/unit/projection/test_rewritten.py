"""Frameworks write a message anew, put one in or leave one out; all others are not added to the history again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.event import MessageAdded
from tests.unit.projection.recording import Recording

Call = tuple[str | None, list[str], list[str]]  # agent, input, output


def added(calls: list[Call]) -> list[str]:
    """The messages that entered by a call's input, in order."""
    r = Recording()
    agents = {name: r.begin("agent", name) for name in dict.fromkeys(agent for agent, _, _ in calls) if name}
    for agent, asked, answered in calls:
        r.answer(r.ask(asked, agents.get(agent or "")), *answered)
    events = [event for event in r.events() if isinstance(event, MessageAdded) and event.source == "input"]
    return [r.labels[event.message] for event in events if event.message]


class Conversation:
    """Messages that all differ; `expected` has each that a call's input really adds."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.count, self.calls = draw, 0, list[Call]()
        self.expected: list[str] = []
        self.thread = [self.new(role) for role in (["system", "user"] if draw(st.booleans()) else ["user"])]

    def new(self, role: str) -> str:
        self.count += 1
        self.expected.append(f"{role}: m{self.count}")
        return self.expected[-1]

    def put_out(self) -> str:
        self.new("assistant")
        return self.expected.pop()

    def call(self, agent: str | None = None) -> None:
        outputs = [self.put_out() for _ in range(self.draw(st.integers(1, 3)))]
        self.calls.append((agent, list(self.thread), outputs))
        self.thread += outputs

    def change(self) -> None:
        place = self.draw(st.integers(0, len(self.thread) - 1))
        match self.draw(st.sampled_from(["nothing", "rewrite", "insert", "delete"])):
            case "rewrite":
                self.thread[place] = self.new(self.thread[place].split(":")[0])
            case "insert":
                self.thread.insert(place, self.new(self.draw(st.sampled_from(["user", "assistant"]))))
            case "delete":
                del self.thread[place]
            case _:
                pass
        self.thread += [self.new("user") for _ in range(self.draw(st.integers(0, 2)))]


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    made = Conversation(draw)
    for _ in range(draw(st.integers(1, 5))):
        made.call()
        made.change()
    made.calls.append((None, list(made.thread), []))
    return made


@given(conversations())
@settings(deadline=None, max_examples=150)
def test_only_messages_that_are_new_are_added(made: Conversation) -> None:
    assert sorted(added(made.calls)) == sorted(made.expected)


def test_of_several_answers_one_is_written_anew() -> None:
    told, answers = ["system: s", "user: a"], ["assistant: T", "assistant: U"]
    calls: list[Call] = [(None, told, answers), (None, [*told, "assistant: X", "assistant: U", "user: b"], [])]
    assert added(calls) == [*told, "assistant: X", "user: b"]


def test_an_answer_of_the_same_words_is_new_once_more() -> None:
    told = ["system: s", "user: a"]
    calls: list[Call] = [(None, told, ["assistant: T"]), (None, [*told, "user: b", "assistant: T", "assistant: T"], [])]
    assert sorted(added(calls)) == sorted([*told, "user: b", "assistant: T"])


def test_an_agent_that_takes_over_under_its_own_instructions_adds_only_these_and_what_is_new() -> None:
    first: Call = ("triage", ["system: s", "user: a"], ["assistant: B"])
    second: Call = ("refunds", ["system: t", "user: a", "assistant: B", "tool: c"], ["assistant: D"])
    back: Call = ("triage", ["system: s", "user: a", "assistant: B", "tool: c", "assistant: D", "user: e"], [])
    assert added([first, second]) == ["system: s", "user: a", "system: t", "tool: c"]
    assert added([first, second, back])[4:] == ["user: e"]


def test_an_agent_of_its_own_that_is_told_the_same_adds_it() -> None:
    first: Call = ("lead", ["system: s", "user: a"], ["assistant: B"])
    second: Call = ("helper", ["system: t", "user: a"], ["assistant: B"])
    assert added([first, second]) == ["system: s", "user: a", "system: t", "user: a"]
