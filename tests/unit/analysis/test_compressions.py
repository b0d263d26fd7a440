"""Audits of labelled runs: every message is accounted for, lost facts are found, and so is who missed them."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from playhead.model.canonical import text_of, value_of
from playhead.model.event import ContextCompressed, LlmCalled
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR
from playhead.model.thread import thread_of
from playhead.projection.projector import ProjectSettings, project
from playhead.wire.operations import CompressionAudit
from playhead_collector.analysis.compression import rules
from playhead_collector.analysis.compression.compressions import audit_compression, list_compressions
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import messages_of
from playhead_collector.serve.routing import schema
from tests.support.compressed_runs import (
    FOUND,
    KNOWN,
    LONG,
    ORDER,
    PLACE,
    RUNS,
    SYSTEM,
    YES,
    Call,
    LabelledRun,
    agent,
    calls,
    gives,
)
from tests.support.compressed_runs import user as user_of
from tests.support.readers.fake import RUN, FakeStore, record_of
from tests.support.recorded_runs import Recorded

of_compressions = {
    (rule.strength, rule.name)
    for rule in (
        *(rules.DECLARED, rules.MESSAGES_GONE, rules.UNKNOWN_KIND, rules.WRITTEN_BY_A_CALL, rules.SAYS_SUMMARY),
        *(rules.NEW_BEFORE_KEPT, rules.NEW_IN_PLACE),
    )
}
each_run = pytest.mark.parametrize("labelled", RUNS, ids=lambda labelled: labelled.name)


def recorded(labelled: LabelledRun) -> RunRecord:
    store, run = FakeStore(), Recorded(RUN, labelled)
    store.bodies.update(run.contents)
    store.thread_nodes.update(run.nodes)
    store.keep_run(project(run.work(), 0, ProjectSettings()).events)
    return record_of(store)


def kept(record: RunRecord) -> FakeStore:
    assert isinstance(record.store, FakeStore)
    return record.store


def refs(messages) -> list[str]:
    return [message_contents(message)[0].ref for message in messages]


@each_run
async def test_the_list_counts_what_became_of_the_messages(labelled: LabelledRun):
    items = (await list_compressions(recorded(labelled), 10, 0))["items"]
    assert [each["strategy"] for each in items] == [expected.strategy for expected in labelled.expected]
    for each, expected in zip(items, labelled.expected, strict=True):
        counts = each["messages"]
        assert counts["before"] == counts["kept"] + counts["summarised"] + counts["dropped"]
        assert (counts["summarised"], counts["dropped"]) == (len(expected.summarised), len(expected.dropped))
        assert counts["after"] == len(labelled.calls[expected.call].given) or expected.origin == "declared"


@each_run
async def test_an_audit_says_what_went_what_was_lost_and_what_was_missed(labelled: LabelledRun, read_json):
    record = recorded(labelled)
    for each, expected in zip((await list_compressions(record, 10, 0))["items"], labelled.expected, strict=True):
        audit = read_json(await audit_compression(record, str(each["seq"])))
        assert [place["message"] for place in audit["summarised"]] == refs(expected.summarised)
        assert [place["message"] for place in audit["dropped"]] == refs(expected.dropped)
        assert all(place["seq"] < audit["seq"] for place in audit["dropped"] + audit["summarised"])
        lost = {fact["text"]: fact for fact in audit["lost"]}
        assert set(expected.lost) <= set(lost)
        needed = {(fact["text"], need["how"]) for fact in audit["lost"] for need in fact["needed"]}
        assert set(expected.needed) <= needed
        assert audit["needed_total"] == len({text for text, _ in needed})
        assert audit["missing"] == []
        TypeAdapter(schema(CompressionAudit)).validate_python(audit, strict=True)
        assert (audit["strength"], audit["rule"]) in of_compressions


async def test_quotes_are_what_stands_at_their_offsets(read_json):
    record = recorded(next(run for run in RUNS if run.name == "summed_up"))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    account = next(fact for fact in audit["lost"] if fact["text"] == "77812345")
    assert (account["kind"], account["label"]) == ("identifier", "account")
    (place,) = account["quotes"]
    assert place["text"] == "77812345"
    (need,) = account["needed"]
    question, answer = need["quotes"]
    assert (need["how"], question["text"]) == ("asked_again", "Could you tell me your account again?")
    assert answer["text"] == "77812345"
    assert item["seq"] < question["seq"] < answer["seq"]
    item_id = next(fact for fact in audit["lost"] if fact["text"] == "LMP-4471")
    (need,) = item_id["needed"]
    assert (need["how"], need["value"]) == ("wrong_value", "LMP-9999")
    assert (need["strength"], need["rule"]) == ("strong", "other_identifier")
    for quote in [*account["quotes"], *(quote for need in account["needed"] for quote in need["quotes"])]:
        message = kept(record).bodies[quote["ref"]]
        assert quote["text"] in message.data.decode()


@each_run
async def test_every_fact_of_what_went_is_lost_or_preserved_and_it_is_said_where(labelled: LabelledRun, read_json):
    record = recorded(labelled)
    for item in (await list_compressions(record, 10, 0))["items"]:
        audit = read_json(await audit_compression(record, item["event"]))
        lost, preserved = ({(fact["kind"], fact["text"]) for fact in audit[name]} for name in ("lost", "preserved"))
        assert not lost & preserved
        assert (audit["lost_total"], audit["preserved_total"]) == (len(audit["lost"]), len(audit["preserved"]))
        for fact in audit["preserved"]:
            assert fact["kept_in"]
            for at in fact["kept_in"]:
                if at["ref"] is not None:
                    part = text_of_part(record, at["ref"], at["part"])
                    assert part[at["start"] : at["end"]] == fact["text"]


def text_of_part(record: RunRecord, ref: str, number: int) -> str:
    """Of a message's part: its text, its result, or the arguments that it asks a tool with."""
    value = value_of(kept(record).bodies[ContentRef(ref)])
    if not isinstance(value, dict) or "parts" not in value:
        return text_of(value)
    part = value["parts"][number]
    return text_of(part.get("content", part.get("response", part.get("arguments"))))


async def test_what_the_summary_says_is_preserved(read_json):
    record = recorded(next(run for run in RUNS if run.name == "summed_up"))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    where = {fact["text"]: [at["where"] for at in fact["kept_in"]] for fact in audit["preserved"]}
    assert where == {"Maria Lopez": ["summary"], "May 3rd": ["summary"], "Desk Lamp": ["summary"]}


async def test_tokens_are_reported_or_say_that_they_are_estimated():
    def cut(before: int | None, after: int | None):
        talk = [text_message("user", f"message {n}") for n in range(8)]
        answer = text_message("assistant", "yes")
        calls = [Call(talk, answer, tokens=before), Call([*talk[4:], answer], answer, tokens=after)]
        return recorded(LabelledRun("cut", calls))

    for before, after, basis in ((100, 60, "reported"), (100, None, "calibrated"), (None, None, "estimated")):
        record = cut(before, after)
        (item,) = (await list_compressions(record, 10, 0))["items"]
        tokens = (await audit_compression(record, str(item["seq"])))["tokens"]
        assert tokens["basis"] == basis
        assert (tokens["before"] or 0) > (tokens["after"] or 0) > 0


@each_run
async def test_the_list_and_the_audit_say_the_same(labelled: LabelledRun):
    record = recorded(labelled)
    for item in (await list_compressions(record, 10, 0))["items"]:
        audit = await audit_compression(record, str(item["seq"]))
        assert {name: audit[name] for name in item} == item
        assert item["tokens"]["saved"] is not None


async def test_a_declared_cut_has_the_tokens_that_were_counted():
    talk, answer = [text_message("user", f"message {n}") for n in range(8)], text_message("assistant", "yes")
    short = talk[5:]
    declares = {"before": [*talk, answer], "after": [*short, answer], "summary": None, "strategy": "own"}
    calls = [
        Call(talk, answer, tokens=7057),
        Call([user_of("another")], answer, agent="helper", tokens=11),
        Call([*short, answer, user_of("more")], answer, tokens=4128, declares=declares),
    ]
    (item,) = (await list_compressions(recorded(LabelledRun("declared", calls)), 10, 0))["items"]
    assert item["tokens"] == {"before": 7057, "after": 4128, "saved": 2929, "basis": "reported"}


async def test_what_the_provider_counted_counts_more_than_what_the_program_declared():
    """A program that declares a cut often estimates, and leaves out the definitions of tools."""
    talk, answer = [text_message("user", f"message {n}") for n in range(8)], text_message("assistant", "yes")
    short = talk[5:]
    declares = {"before": [*talk, answer], "after": [*short, answer], "summary": None, "strategy": "own"}
    declares |= {"tokens_before": 4780, "tokens_after": 1885}
    calls = [
        Call(talk, answer, tokens=7057),
        Call([*short, answer, user_of("more")], answer, tokens=4128, declares=declares),
    ]
    (item,) = (await list_compressions(recorded(LabelledRun("declared", calls)), 10, 0))["items"]
    assert item["tokens"] == {"before": 7057, "after": 4128, "saved": 2929, "basis": "reported"}
    uncounted = [Call(talk, answer), Call([*short, answer, user_of("more")], answer, declares=declares)]
    (item,) = (await list_compressions(recorded(LabelledRun("declared", uncounted)), 10, 0))["items"]
    assert item["tokens"] == {"before": 4780, "after": 1885, "saved": 2895, "basis": "reported"}


async def test_the_call_that_wrote_the_summary_of_a_declared_cut_is_named():
    summary = "The user Sofia Kim wants to fly to Houston on 2024-05-27, by the fastest connection."
    talk, answer = [text_message("user", f"message {n}") for n in range(8)], text_message("assistant", "yes")
    put = user_of(f"Summary of the conversation so far: {summary}")
    declares = {"before": [*talk, answer], "after": [put, answer], "summary": put, "strategy": "summary"}
    calls = [
        Call(talk, answer, tokens=7057),
        Call([user_of("Sum it up.")], text_message("assistant", summary), agent="summariser", tokens=3000),
        Call([user_of("Say hello.")], text_message("assistant", "Hello."), agent="greeter", tokens=30),
        Call([put, answer, user_of("more")], answer, tokens=4128, declares=declares),
    ]
    record = recorded(LabelledRun("declared", calls))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    writer = await record.event(item["summariser"] or 0)
    assert (writer.kind, writer.actor) == ("llm_called", "summariser")
    assert item["tokens"]["before"] == 7057


async def test_needed_facts_are_grouped_by_the_step_that_needed_them(read_json):
    record = recorded(looked_up("get_order", calls("c10", "send", item="LMP-4471", price="15.5")))
    audit = read_json(await audit_compression(record, str((await list_compressions(record, 10, 0))["items"][0]["seq"])))
    needed = {fact["text"]: fact for fact in audit["lost"] if fact["needed"]}
    group, weak = audit["needs"]
    assert (group["how"], group["strength"], group["facts"]) == ("looked_up_again", "strong", ["LMP-4471", "15.5"])
    assert (weak["how"], weak["strength"], weak["facts"]) == ("used", "weak", ["W2378156"])
    assert set(needed) == {*group["facts"], *weak["facts"]}
    assert group["used_seq"] > group["seq"] > audit["seq"] > group["read_seq"]
    [read] = [each for each in audit["dropped"] if each["seq"] == group["read_seq"]]
    assert read["needed"] == 2
    assert sum(each["needed"] for each in audit["dropped"]) == audit["needed_total"]
    assert sum(each["lost"] for each in audit["dropped"]) == audit["lost_total"]


async def test_a_fact_was_read_from_the_message_that_says_most_of_what_was_needed(read_json):
    """A price stands in many results; it was read from the one that has the flight as well."""
    flights = "Flight HAT084 costs 142, flight HAT175 costs 99."
    talk: list[Message] = [SYSTEM, user_of("Look."), calls("c0", "find_booking", id=1)]
    talk += [gives("c0", "Your booking W2378156 cost 142."), calls("c1", "find_flights", id=2), gives("c1", flights)]
    tail: list[Message] = [SYSTEM, PLACE, KNOWN]
    asked = calls("c2", "find_flights", id=2)
    used = agent("HAT084 costs 142, and HAT175 is full.")
    run = [Call(talk, PLACE), Call(tail, asked), Call([*tail, asked, gives("c2", flights)], used)]
    record = recorded(LabelledRun("prices", run))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    [group] = [each for each in audit["needs"] if each["how"] == "looked_up_again"]
    assert {"HAT084", "142", "HAT175"} <= set(group["facts"])
    [read] = [each for each in audit["dropped"] if each["seq"] == group["read_seq"]]
    assert "HAT084" in str(read["value"])


async def test_messages_in_another_order_are_reported():
    words = [text_message("user", f"message {n}") for n in range(6)]
    answer = text_message("assistant", "yes")
    calls = [Call(words, answer), Call([words[4], words[2], words[3], words[5], answer, user_of("go on")], answer)]
    record = recorded(LabelledRun("moved", calls))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    assert (item["messages"]["kept"], item["messages"]["moved"]) == (5, 1)
    audit = await audit_compression(record, str(item["seq"]))
    assert [place["message"] for place in audit["kept"] if place["moved"]] == refs([words[4]])


async def test_the_call_that_wrote_the_summary_is_named():
    record = recorded(next(run for run in RUNS if run.name == "summed_up_by_a_call"))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    writer = await record.event(item["summariser"] or 0)
    assert isinstance(writer, LlmCalled)
    assert (await record.event(item["call"] or 0)).seq > item["seq"] > writer.seq
    audit = await audit_compression(record, str(item["seq"]))
    assert (audit["rule"], audit["strength"]) == ("written_by_a_call", "strong")


async def test_what_the_next_call_is_told_is_not_lost(read_json):
    """The user says it again in the message that ends the shortened list."""
    again = user_of("My account is 77812345, and the lamp LMP-4471 was 15.5.")
    calls = [Call(LONG, PLACE), Call([SYSTEM, YES, PLACE, KNOWN, again], agent("Thanks."))]
    record = recorded(LabelledRun("told", calls))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    assert not {"77812345", "LMP-4471", "15.5"} & {fact["text"] for fact in audit["lost"]}
    assert {"77812345", "LMP-4471", "15.5"} <= {fact["text"] for fact in audit["preserved"]}


async def test_an_event_that_is_no_compression_is_refused():
    with pytest.raises(Refused, match="is no compression"):
        await audit_compression(recorded(RUNS[0]), "1")


async def test_pages_of_compressions_join_to_the_whole_list():
    record = recorded(next(run for run in RUNS if run.name == "window"))
    whole = await list_compressions(record, 10, 0)
    first = await list_compressions(record, 1, 0)
    second = await list_compressions(record, 1, int(first["next_cursor"] or 0))
    assert [*first["items"], *second["items"]] == whole["items"]
    assert (len(whole["items"]), second["next_cursor"]) == (2, None)


async def test_what_is_not_stored_is_named_and_nothing_fails():
    record = recorded(RUNS[0])
    (item,) = (await list_compressions(record, 10, 0))["items"]
    kept(record).bodies.clear()
    audit = await audit_compression(record, str(item["seq"]))
    assert (audit["lost"], audit["messages"]) == ([], item["messages"])
    assert len(audit["missing"]) > 5


WORDS = st.sampled_from("abcdefgh")


@st.composite
def conversations(draw: st.DrawFn) -> LabelledRun:
    """Calls whose context grows, loses any messages, and gains others in their places."""
    talk: list[Message] = [text_message("system", "s")]
    calls: list[Call] = []
    for number in range(draw(st.integers(2, 6))):
        kept = [message for message in talk[1:] if draw(st.integers(0, 4))]
        place = draw(st.integers(0, len(kept)))
        new = [text_message("user", draw(WORDS)) for _ in range(draw(st.integers(0, 2)))]
        talk = [talk[0], *kept[:place], *new, *kept[place:], text_message("user", draw(WORDS))]
        answer = text_message("assistant", draw(WORDS).upper() + str(draw(st.integers(0, number))))
        calls.append(Call(talk, answer))
        talk = [*talk, answer]
    return LabelledRun("random", calls)


@given(conversations())
@settings(deadline=None, max_examples=150)
async def test_kept_summarised_and_dropped_are_what_was_there_before(labelled: LabelledRun):
    record, answers = recorded(labelled), defaultdict[ContentRef | None, list[str]](list)
    for call in labelled.calls:
        answers[thread_of(call.given).ref] += refs([call.answer])  # the same context may have had several answers
    for item in (await list_compressions(record, 100, 0))["items"]:
        audit = await audit_compression(record, str(item["seq"]))
        event = await record.event(item["seq"])
        assert isinstance(event, ContextCompressed)
        assert event.before is not None
        before, after = [await messages_of(record.store, 1, thread) for thread in (event.before, event.after)]
        fates = [place for fate in (audit["kept"], audit["summarised"], audit["dropped"]) for place in fate]
        assert sorted(place["position"] for place in fates) == list(range(item["messages"]["before"]))
        parts = Counter(place["message"] for place in fates)
        assert Counter(before) <= parts
        assert any(parts <= Counter([*before, answer]) for answer in answers[event.before])
        assert Counter(place["message"] for place in audit["kept"]) <= Counter(after)


@st.composite
def declared_conversations(draw: st.DrawFn) -> LabelledRun:
    """Calls before which the program takes out any messages, sums them up or not, and always says so."""
    talk: list[Message] = [text_message("system", "s"), text_message("user", "begin")]
    calls: list[Call] = []
    for number in range(draw(st.integers(2, 6))):
        declares = None
        if number and draw(st.booleans()):
            kept = [message for message in talk[1:] if draw(st.integers(0, 2))]
            summary = text_message("user", "Summary: " + draw(WORDS)) if draw(st.booleans()) else None
            shorter = [talk[0], *([summary] if summary else []), *kept]
            declares = {"before": talk, "after": shorter, "summary": summary, "strategy": "own"}
            talk = shorter
        talk = [*talk, text_message("user", draw(WORDS))]
        answer = text_message("assistant", draw(WORDS).upper())
        calls.append(Call(talk, answer, declares=declares))
        talk = [*talk, answer]
    return LabelledRun("declared", calls)


@given(declared_conversations())
@settings(deadline=None, max_examples=150)
async def test_what_was_declared_is_told_once_and_is_what_was_there_before(labelled: LabelledRun):
    record = recorded(labelled)
    said = [call.declares for call in labelled.calls if call.declares]
    items = (await list_compressions(record, 100, 0))["items"]
    assert [(item["origin"], item["strategy"]) for item in items] == [("declared", "own")] * len(said)
    for item, declared in zip(items, said, strict=True):
        audit = await audit_compression(record, str(item["seq"]))
        fates = [*audit["kept"], *audit["summarised"], *audit["dropped"]]
        assert sorted(place["position"] for place in fates) == list(range(len(declared["before"])))
        assert [place["message"] for place in sorted(fates, key=lambda place: place["position"])] == refs(
            declared["before"]
        )
        assert not (audit["dropped"] if declared["summary"] else audit["summarised"])
        assert Counter(place["message"] for place in audit["kept"]) <= Counter(refs(declared["after"]))


def looked_up(tool: str, *then: Message) -> LabelledRun:
    """After a compression, a tool gives the whole order again; what then comes is said or called by the agent."""
    again = calls("c9", tool, order_id="W2378156")
    order = gives("c9", ORDER["parts"][0]["response"])
    tail = [SYSTEM, FOUND, YES, PLACE, KNOWN]
    given = [*tail, again, order]
    return LabelledRun(
        tool, [Call(LONG, PLACE), Call(tail, again), *(Call([*given, *then[:n]], then[n]) for n in range(len(then)))]
    )


@pytest.mark.parametrize(
    ("tool", "then", "facts"),
    [
        ("get_order", [agent("I have it.")], set[str]()),
        ("get_order", [calls("c10", "send", item="LMP-4471")], {"LMP-4471"}),
        ("get_order", [agent("One moment."), agent("The desk lamp LMP-4471 comes.")], {"LMP-4471", "Desk Lamp"}),
        ("find_order", [agent("It was 15.50 euros.")], {"15.5"}),
        ("update_order", [agent("The Desk Lamp LMP-4471 comes.")], set[str]()),
        ("orders.cancelOrder", [agent("The Desk Lamp LMP-4471 comes.")], set[str]()),
        ("orders.post_search", [agent("LMP-4471 comes.")], {"LMP-4471"}),
    ],
)
async def test_only_what_a_read_gave_and_the_agent_then_used_was_looked_up_again(
    tool: str, then: list[Message], facts: set[str], read_json
):
    record = recorded(looked_up(tool, *then))
    audit = read_json(await audit_compression(record, str((await list_compressions(record, 10, 0))["items"][0]["seq"])))
    found = {
        fact["text"]: need for fact in audit["lost"] for need in fact["needed"] if need["how"] == "looked_up_again"
    }
    assert set(found) == facts
    for fact, need in found.items():
        used = need["quotes"][-1]
        assert used["seq"] > need["seq"]
        assert used["text"].split(".")[0].lower() in fact.lower()


SHORT = [SYSTEM, FOUND, YES, PLACE, KNOWN]


def forgetful(name: str, *then: Call) -> LabelledRun:
    """After a compression that dropped the order, the account and the item, the run goes on with these calls."""
    return LabelledRun(name, [Call(LONG, PLACE), *then])


def made_call(arguments: dict[str, object], result: object) -> list[Call]:
    asked: Message = calls("c9", "open_case", **arguments)
    return [Call(SHORT, asked), Call([*SHORT, asked, gives("c9", result)], None)]


@pytest.mark.parametrize(
    ("labelled", "fact", "how", "rule"),
    [
        (forgetful("other", *made_call({"order_id": "W0000000"}, "Error: no such order")), "W2378156", "wrong_value",
         "other_identifier"),
        (forgetful("form", *made_call({"reference": "W0000000"}, "ok")), "W2378156", "wrong_value", "other_of_form"),
        (forgetful("holds_a_place", *made_call({"account": "<account_number>"}, "ok")), "77812345", "wrong_value",
         "placeholder"),
        (forgetful("unknown", *made_call({"order_id": "unknown"}, "ok")), "W2378156", "wrong_value", "placeholder"),
        (forgetful("an_error", *made_call({"note": "lamp"}, "Error: the account is required")), "77812345", "missed",
         "said_missing"),
        (forgetful("json_error", *made_call({"note": "lamp"}, {"error": "missing argument: item_id"})), "LMP-4471",
         "missed", "said_missing"),
        (forgetful("refuses", Call(SHORT, agent("Sorry, I don't have your account number, so I stop here."))),
         "77812345", "missed", "said_missing"),
        (forgetful("asks", Call(SHORT, agent("Could you give me the number of your account?"))), "77812345", "missed",
         "asked_in_vain"),
    ],
    ids=lambda value: value.name if isinstance(value, LabelledRun) else "",
)  # fmt: skip
async def test_a_fact_is_needed_when_its_absence_shows(
    labelled: LabelledRun, fact: str, how: str, rule: str, read_json
):
    record = recorded(labelled)
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    needs = {lost["text"]: [(need["how"], need["rule"]) for need in lost["needed"]] for lost in audit["lost"]}
    assert (how, rule) in needs[fact]
    assert all(need["quotes"] for lost in audit["lost"] for need in lost["needed"])


async def test_an_identifier_that_may_stand_for_several_lost_ones_shows_that_they_were_needed(read_json):
    found = gives("c1", {"slots": [{"id": "SLT-881"}, {"id": "SLT-882"}]})
    talk = [*LONG[:5], found, *LONG[6:]]
    wrong = Call(SHORT, calls("c9", "book", slot_id="SLT-700"))
    record = recorded(LabelledRun("slots", [Call(talk, PLACE), wrong]))
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    needed = {fact["text"]: fact["needed"] for fact in audit["lost"]}
    for slot in ("SLT-881", "SLT-882"):
        (need,) = needed[slot]
        assert (need["how"], need["value"], need["rule"]) == ("wrong_value", "SLT-700", "other_value_unclear")


@pytest.mark.parametrize(
    "labelled",
    [
        forgetful("says_nothing", Call(SHORT, agent("Nothing is missing now, it is on its way."))),
        forgetful("a_result", *made_call({"note": "lamp"}, {"account": None, "text": "no account needed"})),
        forgetful("another_word", *made_call({"note": "lamp"}, "Error: the warehouse is required")),
        forgetful("own_identifier", *made_call({"ticket": "TCK-1000"}, "ok")),
    ],
    ids=lambda labelled: labelled.name,
)
async def test_what_shows_no_absence_is_no_need(labelled: LabelledRun):
    record = recorded(labelled)
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = await audit_compression(record, str(item["seq"]))
    assert [fact["text"] for fact in audit["lost"] if fact["needed"]] == []


async def test_an_error_that_ended_the_run_shows_what_was_missed(read_json):
    store, run = FakeStore(), Recorded(RUN, forgetful("died", Call(SHORT, agent("I look."))))
    run.spans[0].status, run.spans[0].status_message = STATUS_ERROR, "KeyError: 'account_id'"
    store.bodies.update(run.contents)
    store.thread_nodes.update(run.nodes)
    store.keep_run(project(run.work(), 0, ProjectSettings()).events)
    record = record_of(store)
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = read_json(await audit_compression(record, item["event"]))
    (account,) = [lost for lost in audit["lost"] if lost["text"] == "77812345"]
    (need,) = account["needed"]
    assert (need["how"], need["quotes"][0]["ref"], need["seq"]) == ("missed", None, record.last)
