"""Other messages for a recorded model call: what an edit means for a list of messages.  Pure."""

from typing import Any

import pytest

from playhead.dialect.openai_chat import to_message
from playhead.errors import ReplayDiverged, ReplayError
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.message import message_contents
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.replaying.editing import EditRule, Edits, is_edit, recorded_rules, rule_of
from playhead.replaying.record import LocalRecord
from playhead.replaying.recorded_calls import RecordedCall, recorded_calls
from playhead.replaying.restoring import check_outcome

SYSTEM = {"role": "system", "content": "Be kind."}
USER = {"role": "user", "content": "Hello?"}
SAID = {"role": "assistant", "content": "Yes?"}
MORE = {"role": "user", "content": "More."}
THREAD = ContentRef.from_digest(b"t" * 32)


class Recorded(LocalRecord):
    """One call with these messages."""

    def __init__(self, *natives: dict[str, Any]):
        super().__init__()
        self.contents: dict[ContentRef, Any] = {}
        self.refs = [ref_of(native) for native in natives]
        for native in natives:
            content = message_contents(to_message(native))[0]
            self.contents[content.ref] = content

    def content(self, ref: ContentRef) -> Any:
        return self.contents.get(ref)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        return self.refs if thread == THREAD else None


def ref_of(native: Any) -> ContentRef:
    return message_contents(to_message(native))[0].ref


def call(**attributes: Any) -> RecordedCall:
    said = {names.KIND: "llm", names.CALL_KEY: "agent/chat:llm#1", names.CALL_ORDER: 1, **attributes}
    return recorded_calls([Span("t" * 32, "1" * 16, None, "chat", 1, 2, said)])[0]


CALL = call(**{names.INPUT_MESSAGES_REF: str(THREAD)})


def edited(outcome: Any, recorded: list[dict[str, Any]], asked: list[dict[str, Any]] | None = None) -> Any:
    rule = rule_of(outcome, Recorded(*recorded), CALL)
    assert EditRule.from_json(rule.to_json()) == rule
    applied = Edits((rule,)).apply(asked if asked is not None else recorded, None, ref_of)
    return applied.messages if applied is not None else None


BEGIN = [SYSTEM, USER]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ({"system": "Be brief."}, [{**SYSTEM, "content": "Be brief."}, USER]),
        ({"messages": {"1": "Bye."}}, [SYSTEM, {**USER, "content": "Bye."}]),
        ({"messages": {-1: MORE}}, [SYSTEM, MORE]),
        ({"messages": {0: None}}, [USER]),
        ({"messages": {"append": MORE}}, [SYSTEM, USER, MORE]),
        ({"messages": {"append": [SAID, MORE], "0": None}}, [USER, SAID, MORE]),
        ({"messages": [MORE]}, [MORE]),
        ({"messages": [USER, SAID, MORE]}, [USER, SAID, MORE]),
        ({"system": "Be brief.", "messages": {"1": None}}, [{**SYSTEM, "content": "Be brief."}]),
    ],
)
def test_an_edit_changes_the_call_s_own_messages(outcome: Any, expected: list[Any]):
    before = [dict(message) for message in BEGIN]
    assert edited(outcome, BEGIN) == expected
    assert before == BEGIN, "what the program has is left alone"


def test_a_call_without_a_system_prompt_gets_one():
    assert edited({"system": "Be brief."}, [USER]) == [{"role": "system", "content": "Be brief."}, USER]


def test_a_developer_s_message_is_a_system_prompt_and_stays_the_developer_s():
    developer = {"role": "developer", "content": "Be kind."}
    assert edited({"system": "Be brief."}, [developer]) == [{"role": "developer", "content": "Be brief."}]


def test_it_holds_for_later_calls_that_begin_alike():
    later = [*BEGIN, SAID, MORE]
    assert edited({"system": "Be brief."}, BEGIN, later) == [{**SYSTEM, "content": "Be brief."}, USER, SAID, MORE]
    assert edited({"messages": {"append": MORE}}, BEGIN, [*BEGIN, SAID]) == [*BEGIN, MORE, SAID]
    # Only the system prompt has to be the same: what follows it is another conversation under the same prompt.
    assert edited({"system": "Be brief."}, BEGIN, [SYSTEM, MORE]) == [{**SYSTEM, "content": "Be brief."}, MORE]


def test_it_does_not_hold_for_calls_that_begin_otherwise():
    other = {"role": "system", "content": "You are another agent."}
    assert edited({"system": "Be brief."}, BEGIN, [other, USER]) is None
    assert edited({"messages": {"1": "Bye."}}, BEGIN, [SYSTEM]) is None
    assert edited({"messages": {"1": "Bye."}}, BEGIN, [SYSTEM, MORE]) is None
    assert edited({"system": "Be brief."}, [USER], [MORE]) is None, "a prompt that was added, too, is for one beginning"


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        ({"messages": {"2": "?"}}, "agent/chat:llm has 2 messages, the first at 0: there is none at 2"),
        ({"messages": {"first": "?"}}, "'first' is no place of a message"),
        ({"messages": "Hello"}, "cannot be read; expected"),
        ({"messages": {}}, "changes nothing, or one message twice"),
        ({"messages": {"0": None, "-2": "?"}}, "changes nothing, or one message twice"),
        ({"messages": {"0": {"content": "no role"}}}, "with a role"),
        ({"messages": [{"content": "no role"}]}, "with a role"),
        ({"system": 5}, "has to be a text"),
    ],
)
def test_an_edit_that_cannot_be_says_why(outcome: Any, error: str):
    with pytest.raises(ReplayError, match=error):
        edited(outcome, BEGIN)


def test_messages_that_are_not_at_hand_cannot_be_edited():
    with pytest.raises(ReplayError, match="are not at hand"):
        rule_of({"system": "?"}, Recorded(), call(**{names.INPUT_MESSAGES_REF: "sha256:" + "0" * 64}))


def test_what_is_an_edit_and_what_is_a_result():
    assert is_edit({"system": "?"}, CALL)
    assert is_edit({"system": "?", "messages": {}}, CALL)
    assert not is_edit({"message": {"content": "?"}}, CALL)
    assert not is_edit({}, CALL)
    assert not is_edit("system", CALL)
    assert not is_edit({"system": "a tool's result"}, call()), "a call without messages has results only"


def test_edits_follow_each_other_and_are_told():
    first = rule_of({"system": "Be brief."}, Recorded(*BEGIN), CALL)
    second = rule_of({"messages": {"1": None}}, Recorded({**SYSTEM, "content": "Be brief."}, USER), CALL)
    other = EditRule((str(ref_of(MORE)),), None, first.changes)
    applied = Edits((first, other, second)).apply(BEGIN, None, ref_of)
    assert applied is not None
    assert applied.messages == [{**SYSTEM, "content": "Be brief."}]
    assert (applied.system, applied.description) == (None, [first.to_json(), second.to_json()])
    assert Edits((other,)).apply(BEGIN, None, ref_of) is None
    with pytest.raises(ReplayDiverged, match="agent/chat:llm cannot be edited"):
        Edits((first, other), "agent/chat:llm").apply(BEGIN, None, ref_of)


def test_a_prompt_that_stands_apart_is_replaced_there_and_holds_for_calls_that_have_the_same():
    kind, brief = content_of("Be kind.").ref, content_of("Be brief.").ref
    apart = call(**{names.INPUT_MESSAGES_REF: str(THREAD), names.SYSTEM_INSTRUCTIONS_REF: str(kind)})
    first = rule_of({"system": "Be brief."}, Recorded(USER), apart)
    applied = Edits((first,)).apply([MORE], kind, ref_of)
    assert applied is not None
    assert (applied.messages, applied.system) == ([MORE], "Be brief.")
    assert Edits((first,)).apply([USER], None, ref_of) is None
    assert Edits((first,)).apply([USER], content_of("You check.").ref, ref_of) is None
    later = call(**{names.INPUT_MESSAGES_REF: str(THREAD), names.SYSTEM_INSTRUCTIONS_REF: str(brief)})
    second = rule_of({"messages": {"0": "Bye."}}, Recorded(USER), later)
    applied = Edits((first, second)).apply([USER], kind, ref_of)
    assert applied is not None
    assert (applied.messages, applied.system) == ([{**USER, "content": "Bye."}], "Be brief.")


def test_a_record_s_edits_hold_on():
    record = Recorded(*BEGIN)
    rule = rule_of({"system": "Be brief."}, record, CALL)
    content = content_of([rule.to_json()])
    record.contents[content.ref] = content
    calls = [call(**{names.EDIT_REF: str(content.ref)})] * 2
    assert recorded_rules(record, calls) == (rule,)
    record.contents.clear()
    with pytest.raises(ReplayError, match="is not at hand"):
        recorded_rules(record, calls)
    with pytest.raises(ReplayError, match="cannot be read"):
        EditRule.from_json({"prefix": []})


@pytest.mark.parametrize("message", [5, None, ["text"]])
def test_a_message_that_no_model_can_answer_with_is_refused_at_once(message: object):
    with pytest.raises(ReplayError, match="a message is a text, or an object"):
        check_outcome({"message": message}, CALL)


@pytest.mark.parametrize("outcome", [None, "text", {"message": "text"}, {"message": {"role": "assistant"}}, {"a": 5}])
def test_other_outcomes_are_not(outcome: object):
    check_outcome(outcome, CALL)
