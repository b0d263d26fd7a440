"""What calls add to their conversations.  Messages are letters: `s` is the system's, capitals are the model's."""

from playhead.model.event import ContextCompressed, MessageAdded
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.projection.conversations import Conversations
from playhead.projection.known_messages import KnownMessages
from tests.unit.projection.recording import Recording


def texts(letters: str) -> list[str]:
    return [f"{'system' if x == 's' else 'assistant' if x.isupper() else 'user'}: {x}" for x in letters]


class Talk:
    def __init__(self) -> None:
        self.r = Recording()
        self.agents: dict[str, Span] = {}

    def ask(self, letters: str, agent: str | None = None):
        return self.r.ask(texts(letters), self.agents.get(agent or ""))

    def call(self, letters: str, output: str = "", agent: str | None = None, tokens: int | None = None) -> "Talk":
        self.r.answer(self.ask(letters, agent), *texts(output), tokens=tokens)
        return self

    def letters(self, refs) -> str:
        return "".join(self.r.labels[ref][-1] for ref in refs)

    def added(self, source: str = "input") -> str:
        """What each call added, calls apart by blanks."""
        calls: dict[str, str] = {}
        for event in self.r.events():
            if event.kind == "llm_called":
                calls.setdefault(event.span or "", "")
            if isinstance(event, MessageAdded) and event.source == source:
                calls[event.span or ""] = calls.get(event.span or "", "") + self.letters([event.message])
        return " ".join(added or "-" for added in calls.values())

    def cuts(self) -> list[str]:
        """`kept|dropped` of each."""
        cuts = [event for event in self.r.events() if isinstance(event, ContextCompressed)]
        return [f"{self.letters(cut.kept)}|{self.letters([*cut.summarised, *cut.dropped])}" for cut in cuts]


def test_a_call_adds_what_follows_the_last_input_and_output():
    talk = Talk().call("sa", "B").call("saBc", "D").call("saBcDe", "F")
    assert (talk.added(), talk.added("output"), talk.cuts()) == ("sa c e", "B D F", [])


def test_a_user_who_says_the_same_twice_says_it_twice():
    assert Talk().call("sy", "B").call("syBy", "B").call("syByBy").added() == "sy y y"


def test_the_same_input_again_adds_nothing():
    talk = Talk().call("sa", "B").call("sa", "C").call("saCd")
    assert (talk.added(), talk.cuts()) == ("sa - d", [])


def test_a_call_that_failed_and_is_made_again_adds_its_input_once():
    talk = Talk()
    talk.r.answer(talk.ask("sa"), error="no")
    assert talk.call("sa", "B").added() == "sa -"


def test_of_several_answers_those_that_are_sent_back_are_not_new():
    assert Talk().call("sa", "BC").call("saCd").added() == "sa d"
    assert Talk().call("sa", "BC").call("saBd").added() == "sa d"


def test_an_answer_that_was_changed_before_it_was_sent_back_is_new():
    talk = Talk().call("sa", "B").call("saXc")
    assert (talk.added(), talk.cuts()) == ("sa Xc", [])


def test_a_window_that_slides_is_a_cut_and_what_it_keeps_is_not_new():
    talk = Talk().call("sabc", "D").call("scDe", "F").call("sDeFg", "H")
    assert talk.added() == "sabc e g"
    assert talk.cuts() == ["cD|ab", "DeF|c"]


def test_a_window_without_a_system_message_is_a_cut_too():
    talk = Talk().call("abc", "D").call("cDe")
    assert (talk.added(), talk.cuts()) == ("abc e", ["cD|ab"])


def test_a_summary_in_the_place_of_messages_is_new():
    talk = Talk().call("sabc", "D").call("szDe")
    assert (talk.added(), talk.cuts()) == ("sabc ze", ["D|abc"])


def test_one_that_goes_back_to_an_earlier_point_is_no_cut():
    talk = Talk().call("sabc", "D").call("sab", "E").call("sabEf")
    assert (talk.added(), talk.cuts()) == ("sabc - f", [])
    talk.call("sabcDg")
    assert (talk.added(), talk.cuts()) == ("sabc - f g", [])


def test_of_equal_messages_the_older_ones_are_dropped():
    talk = Talk().call("syyy", "D").call("syDe")
    assert talk.cuts() == ["D|yy"]
    talk = Talk().call("sayby", "D").call("sybyDe")
    assert talk.cuts() == ["ybyD|a"]


def test_a_cut_names_the_threads_and_what_they_cost():
    talk = Talk().call("sabc", "D", tokens=900).call("scDe", tokens=300)
    (cut,) = [event for event in talk.r.events() if isinstance(event, ContextCompressed)]
    assert (cut.origin, cut.tokens_before, cut.tokens_after) == ("inferred", 900, 300)
    assert (cut.before, cut.after) == (talk.r.thread(*texts("sabc")), talk.r.thread(*texts("scDe")))


def test_messages_that_only_change_places_are_no_cut():
    talk = Talk().call("sab").call("sba")
    assert (talk.added(), talk.cuts()) == ("sab -", [])


def test_one_that_begins_anew_with_the_same_system_message_is_no_cut():
    talk = Talk().call("sa", "B").call("sc", "D").call("se", "F")
    assert (talk.added(), talk.cuts()) == ("sa c e", [])


def test_two_conversations_in_turn_are_told_apart():
    talk = Talk().call("sa", "B").call("tc", "D").call("saBe", "F").call("tcDg", "H").call("saBeFi")
    assert (talk.added(), talk.cuts()) == ("sa tc e g i", [])


def test_of_two_conversations_the_one_that_shares_more_was_cut():
    talk = Talk().call("sabc", "D").call("stuv", "W").call("scDx", "Y").call("stuvWz")
    assert talk.cuts() == ["cD|ab"]
    assert talk.added() == "sabc tuv x z"


def test_calls_side_by_side_are_branches():
    talk = Talk().call("sa", "B")
    left, right = talk.ask("saBx"), talk.ask("saBy")
    third = talk.ask("saBz")
    for span, output in ((left, "X"), (right, "Y"), (third, "Z")):
        talk.r.answer(span, *texts(output))
    talk.call("saByYw")
    assert (talk.added(), talk.cuts()) == ("sa x y z w", [])


def test_calls_from_a_pool_of_two_are_branches_even_where_one_follows_another():
    talk = Talk().call("sa", "B")
    one, two = talk.ask("saBx"), talk.ask("saBy")
    talk.r.answer(one, *texts("X"))
    three = talk.ask("saBz")
    talk.r.answer(two, *texts("Y"))
    talk.r.answer(three, *texts("Z"))
    assert (talk.added(), talk.cuts()) == ("sa x y z", [])


def test_the_same_question_asked_side_by_side_is_asked_once_and_answered_twice():
    talk = Talk()
    one, two = talk.ask("sa"), talk.ask("sa")
    talk.r.answer(one, *texts("B"))
    talk.r.answer(two, *texts("B"))
    assert (talk.added(), talk.added("output"), talk.cuts()) == ("sa -", "B B", [])


def test_another_agent_with_less_context_is_no_cut():
    talk = Talk()
    talk.agents = {name: talk.r.begin("agent", name) for name in ("lead", "helper")}
    talk.call("sabc", "D", "lead").call("sc", "E", "helper").call("sabcDf", "G", "lead")
    assert (talk.added(), talk.cuts()) == ("sabc c f", [])


def test_another_agent_that_goes_on_where_the_first_stopped_adds_only_what_is_new():
    talk = Talk()
    talk.agents = {name: talk.r.begin("agent", name) for name in ("triage", "refunds")}
    talk.call("sa", "B", "triage").call("saBc", "D", "refunds").call("saBcDe", "F", "triage")
    assert (talk.added(), talk.cuts()) == ("sa c e", [])


def test_an_agent_is_cut_although_others_speak_in_between():
    talk = Talk()
    talk.agents = {name: talk.r.begin("agent", name) for name in ("lead", "helper")}
    talk.call("sabc", "D", "lead").call("tu", "V", "helper").call("scDe", "F", "lead")
    assert talk.cuts() == ["cD|ab"]


def test_an_old_state_that_comes_back_is_no_cut_and_adds_nothing_again():
    talk = Talk().call("sabcd", "E").call("sdEf", "G").call("sabcdEh")
    assert talk.added() == "sabcd f h"
    assert talk.cuts() == ["dE|abc"]


def test_two_instrumentations_of_one_call_add_its_messages_once():
    r = Recording()
    with r.root():
        outer = r.ask(texts("sa"))
        r.answer(r.ask(texts("sa"), outer), *texts("B"))
        r.answer(outer, *texts("B"))
        outer = r.ask(texts("saBc"))
        r.answer(r.ask(texts("saBc"), outer), *texts("D"))
        r.answer(outer, *texts("D"))
    added = [r.tell(event)[-1] for event in r.events() if isinstance(event, MessageAdded)]
    assert "".join(added) == "saBcD"


def test_a_thread_that_is_not_here_yet_adds_nothing_until_it_is():
    talk = Talk().call("sa", "B").call("saBc", "D").call("saBcDe", "F")
    last = talk.r.thread(*texts("saBc"))
    nodes = {ref: node for ref, node in talk.r.nodes.items() if ref != last}
    events = talk.r.events(nodes=nodes)
    assert [event.kind for event in events].count("llm_called") == 3
    added = [talk.r.tell(event)[-1] for event in events if isinstance(event, MessageAdded)]
    # The third call's thread runs through the missing node: what it adds is known when that arrives.
    assert "".join(added) == "saBDF"


def test_roles_of_messages_that_are_not_here_yet_are_those_most_likely():
    talk = Talk().call("sa", "B")
    added = [event for event in talk.r.events(roles={}) if isinstance(event, MessageAdded)]
    assert [event.role for event in added] == ["user", "user", "assistant"]


def test_after_a_crash_the_same_call_is_no_branch():
    talk = Talk()
    talk.ask("sabc")
    conversations = Conversations(talk.r.nodes, KnownMessages(talk.r.roles, {}))
    thread = talk.r.thread(*texts("sabc"))
    conversations.call_started("1", None, thread, None)
    conversations.interrupt_open_calls()
    assert conversations.call_started("2", None, thread, None).new == []
    conversations.call_ended("2", None)
    cut = conversations.call_started("3", None, talk.r.thread(*texts("sc")), None).cut
    assert cut is not None
    assert talk.letters(cut.verdict.dropped) == "ab"


class Counting(dict[ContentRef, object]):
    """Nodes that count how often they are looked at."""

    looked_at = 0

    def get(self, key, default=None):
        self.looked_at += 1
        return super().get(key, default)


def test_a_long_conversation_costs_what_is_new_in_each_call():
    talk = Talk()
    said = "s"
    for n in range(300):
        talk.call(said + "u", "A" if n % 2 else "B")
        said += "u" + ("A" if n % 2 else "B")
    nodes = Counting(talk.r.nodes)
    assert len(talk.r.events(nodes=nodes)) == 300 * 4 + 1
    assert nodes.looked_at < 300 * 6
