"""A new message that says that it is a summary: what it stands for, and what the answer before it is not."""

from playhead.model.event import ContextCompressed
from tests.unit.projection.recording import Recording

SYSTEM = "system: You help customers of an airline."
FIRST = (
    "assistant: Reservation H8Q05L of 2024-05-10 cost $250 and is basic economy: after 24 hours no refund is possible."
)
ASKED = "user: I understand, but H8Q05L cost me $250, and my plans for 2024-05-10 changed. A full refund, please."
AGAIN = "assistant: The $250 of H8Q05L are basic economy, booked on 2024-05-10, more than 24 hours ago: no refund."
INSISTS = "user: I really need a refund of the $250 for H8Q05L."
LAST = "assistant: For H8Q05L, booked on 2024-05-10 for $250 in basic economy, no refund is possible after 24 hours."


def compressions(r: Recording) -> list[ContextCompressed]:
    return [event for event in r.events() if isinstance(event, ContextCompressed)]


def test_an_answer_that_repeats_itself_is_no_summary_where_a_message_says_that_it_is_one():
    first, second = (
        f"user: Summary of the conversation so far:\n\nThe customer said {n} characters." for n in (410, 523)
    )
    r = Recording()
    with r.root():
        r.answer(r.ask([SYSTEM, first, FIRST, ASKED]), AGAIN, tokens=900)
        r.answer(r.ask([SYSTEM, first, FIRST, ASKED, AGAIN, INSISTS]), LAST, tokens=990)
        r.answer(r.ask([SYSTEM, second, INSISTS, LAST, "user: Is there any other way?"]), "assistant: No.")
    [compressed] = compressions(r)
    assert compressed.summary == r.message(second)
    assert list(compressed.summarised) == [r.message(said) for said in (first, FIRST, ASKED, AGAIN)]
    assert compressed.summariser is None


def test_a_summary_that_leaves_only_what_is_said_next_may_stand_for_three_messages():
    first, second = (
        f"user: Summary of the conversation so far:\n\nThe customer said {n} characters." for n in (410, 523)
    )
    r = Recording()
    with r.root():
        r.answer(r.ask([SYSTEM, first, "user: I left it somewhere."]), "assistant: I see.", tokens=900)
        r.answer(r.ask([SYSTEM, second, "user: I do not remember the number."]), "assistant: Then I cannot look.")
    [compressed] = compressions(r)
    assert (compressed.strategy, len(compressed.summarised)) == ("summary", 3)


def test_another_conversation_of_the_agent_is_no_compression():
    r = Recording()
    with r.root():
        r.answer(r.ask([SYSTEM, "user: I left my bag somewhere."]), "assistant: I see.", tokens=900)
        r.answer(r.ask([SYSTEM, "user: When do I board?"]), "assistant: At nine.")
        r.answer(r.ask([SYSTEM, "user: And from which gate?", "assistant: 7", "user: Thanks"]), "assistant: Bye.")
    assert compressions(r) == []
