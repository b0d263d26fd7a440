"""A new message that says that it is a summary: what it stands for, and what the answer before it is not."""

import pytest

from playhead.model.event import ContextCompressed
from playhead.projection.summary_texts import says_summary
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


@pytest.mark.parametrize(
    "text",
    [
        "Here is a recap of our earlier chat: the release was rolled back.",
        "The story so far: the release was rolled back.",
        "# Progress so far\n- the release was rolled back",
        "Zusammenfassung des bisherigen Gesprächs: Die Version wurde zurückgenommen.",
        "Résumé de la conversation : la version a été annulée.",
        "Resumen de la conversación hasta ahora: se revirtió la versión.",
        "Riassunto della conversazione: la versione è stata annullata.",
        "Resumo da conversa até agora: a versão foi revertida.",
        "Samenvatting van het gesprek: de versie is teruggedraaid.",
        "Краткое содержание разговора: версию откатили.",
        "以下是之前对话的总结\uff1a版本已回滚。",
        "これまでの会話の要約\uff1aバージョンを元に戻した。",
        "지금까지의 대화 요약: 버전을 되돌렸다.",
    ],
)
def test_a_message_may_say_in_any_of_these_languages_that_it_is_a_summary(text: str):
    r = Recording()
    with r.root():
        talk = [SYSTEM, "user: Roll it back, please.", "assistant: To which version?", "user: To 2.14."]
        r.answer(r.ask(talk), "assistant: Done.", tokens=900)
        r.answer(r.ask([SYSTEM, f"user: {text}", "user: And now?"]), "assistant: It works.")
    assert [each.strategy for each in compressions(r)] == ["summary"]


@pytest.mark.parametrize(
    "text",
    [
        "Recap the conversation so far.",
        "Fasse das bisherige Gespräch zusammen.",
        "Bitte erstelle eine Zusammenfassung des Gesprächs.",
        "Fais un résumé de la conversation.",
        "Haz un resumen de la conversación.",
        "Scrivi un riassunto della conversazione.",
        "Faça um resumo da conversa.",
        "Maak een samenvatting van het gesprek.",
        "Напиши краткое содержание разговора.",
        "请总结以上对话",
        "これまでの会話を要約してください",
        "지금까지의 대화를 요약해 주세요",
        "What have you done so far?",
        "My résumé: ten years of history, and of conversation.",
    ],
)
def test_who_asks_for_a_summary_or_speaks_of_something_else_gives_none(text: str):
    assert not says_summary(text)


def test_a_short_answer_that_was_asked_for_as_a_summary_is_one():
    talk = [SYSTEM, "user: Roll it back, please.", "assistant: To which version?", "user: To 2.14.", "assistant: Done."]
    brief = "It was rolled back to 2.14."
    r = Recording()
    with r.root():
        r.answer(r.ask(talk[:-1]), talk[-1], tokens=900)
        writer = r.ask([*talk, "user: Summarize the conversation above."])
        r.answer(writer, f"assistant: {brief}", tokens=950)
        r.answer(r.ask([SYSTEM, f"user: Before: {brief}", "user: And now?"]), "assistant: It works.")
    [compressed] = compressions(r)
    assert (compressed.summary, compressed.summariser) == (r.message(f"user: Before: {brief}"), writer.span_id)


@pytest.mark.parametrize(
    ("note", "strategy"),
    [
        (
            "assistant: [NOTE] Some previous conversation history with the user has been removed to maintain optimal "
            "context window length. The initial user task has been retained for continuity, while "
            "intermediate parts have been removed.",
            "sliding_window",
        ),
        ("user: Earlier messages were omitted; among them, H8Q05L was found, and its $250 were refunded.", "summary"),
    ],
)
def test_a_note_that_messages_were_removed_is_no_summary_of_them(note: str, strategy: str):
    talk = [SYSTEM, "user: Refund it.", "assistant: Which one?", "user: H8Q05L.", "assistant: It cost $250. Sure?"]
    r = Recording()
    with r.root():
        r.answer(r.ask([*talk, "user: Yes."]), "assistant: Refunded.", tokens=900)
        r.answer(r.ask([*talk[:2], note, "user: Yes.", "assistant: Refunded.", "user: Thanks."]), "assistant: Bye.")
    assert [each.strategy for each in compressions(r)] == [strategy]
