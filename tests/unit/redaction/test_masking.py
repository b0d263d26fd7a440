"""Masking by the rules of a project: what goes, what stays, and that it is settled."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.canonical import JSON, TEXT, Content, canonical_json, content_as, content_of, parse_json, value_of
from playhead.model.message import read_message, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.model.thread import THREAD, node_bytes
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.patterns import BadPattern, SafePattern
from playhead_collector.redaction.presets import PRESETS
from playhead_collector.redaction.records import mask_logs, mask_spans
from playhead_collector.redaction.rules import BadRules, RedactionRules, checked
from tests.support.processor_time import assert_takes_less_than

ALL = RedactionRules(
    keys=("password", "*_token", "x-*-key"),
    patterns=(("ticket", r"TK-[0-9]{4,8}"), ("word", r"(?i)\bblue\b"), ("joined", "foo"), ("begins", r"\bbaz")),
    presets=tuple(PRESETS),
)


def masker(**rules: Any) -> Masker:
    return Masker(RedactionRules(**rules))


# --- presets ----------------------------------------------------------------------------------------------------------

FOUND = {
    "email": ["write to jo.doe+x@mail.example.com, please", "JO@EXAMPLE.ORG"],
    "credit_card": ["card 4111 1111 1111 1111 12/29", "4012888888881881", "5500-0055-5555-5559 and"],
    "iban": ["to DE89 3704 0044 0532 0130 00 now", "GB29NWBK60161331926819", "fr14 2004 1010 0505 0001 3M02 606"],
    "phone": ["+49 (30) 123456-78", "call 0049 30 1234567", "(415) 555-2671", "415-555-2671"],
    "api_key": [
        "sk-proj-abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrst1234", "AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer abcdefghijklmnop.qrs", "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    ],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
}  # fmt: skip
LEFT = [
    "4111 1111 1111 1112", "0000 0000 0000 0000", "on 2026-11-29 at 12:30", "0.123456789012", "a@",
    "DE00 3704 0044 0532",
    "sk-short", "version 1.2.3.4", "order 12345678", "sha256:" + "0123456789abcdef" * 4, "eyJ", "call me",
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FOUND.items() for text in texts])
def test_a_preset_masks_what_it_is_for(name: str, text: str) -> None:
    masked = masker(presets=(name,)).text(text)
    assert f"[masked:{name}]" in masked
    digits = sum(character.isdigit() for character in masked)
    assert digits <= 4
    assert "example" not in masked.lower()


@pytest.mark.parametrize("text", LEFT)
def test_presets_leave_other_texts(text: str) -> None:
    assert Masker(RedactionRules(presets=tuple(PRESETS))).text(text) == text


def test_all_of_a_card_number_goes_and_nothing_around_it() -> None:
    assert masker(presets=("credit_card",)).text("pay 4111 1111 1111 1111 12/29") == "pay [masked:credit_card] 12/29"


# --- patterns whose time is bounded -----------------------------------------------------------------------------------

REFUSED = [
    r"(a+)+$", r"a+b", r".*x", r"(a|a){1,30}b", r"(ab)+", r"a{1,40}a{1,40}b", r"(\w)\1", r"(?P<x>a)", r"a*", r"",
    r"a{2,1}", r"[a", r"(a", r"a)", r"*a", r"(?=a+)b", r"(?x) a", r"a{1,600}b{1,600}", r"\b{3}a", r"a**", r"(?<!a+)b",
    "x" * 501, "(" * 30 + "a" + ")" * 30,
]  # fmt: skip
TAKEN = [
    r"sk-[a-z0-9]{20,}", r"(?i)secret: \S+", r"[\w.+-]{1,64}@[\w.-]+", r"TK-\d{4,8}", r"(?:ab){1,20}", r"foo|ba[rz]",
    r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)", r"\bKunde \d+", r"a{2}", r"[]x]y", r"[^\]]z", r"\x41\u00e9",
    r"a{,3}b", r"x\.y\+",
]  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_could_take_long_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        SafePattern(pattern)


@pytest.mark.parametrize("pattern", TAKEN)
def test_usual_patterns_are_taken(pattern: str) -> None:
    SafePattern(pattern)


@pytest.mark.parametrize("pattern", [*TAKEN, *(text for preset in PRESETS.values() for text in preset.patterns)])
@pytest.mark.parametrize("unit", ["a", "1", "a.", "ab", "sk-a", "1-", "+1 ", "@a", "DE12 ", "eyJa.", "\u00e9"])
def test_a_pattern_takes_time_in_proportion_to_its_text(pattern: str, unit: str) -> None:
    safe, size = SafePattern(pattern), 200_000
    text = (unit * size)[:size]
    # At the worst some microseconds for each character; a bad one takes hours.
    assert_takes_less_than(4, lambda: list(safe.matches(text, 0, size)))


def test_matches_over_the_borders_of_portions_are_found_whole() -> None:
    mask = masker(patterns=(("t", r"TK-[0-9]{4,8}"), ("long", r"L=[a-z]{2,}"), ("edge", r"(?<!x)END\b")))
    for filler in range(8_150, 8_200):
        text = "-" * filler + "TK-12345678-" + "-" * 8_170 + "L=" + "y" * 20_000 + " xEND ENDx END"
        masked = mask.text(text)
        assert masked == "-" * filler + "[masked:t]-" + "-" * 8_170 + "[masked:long] xEND ENDx [masked:edge]"


# --- rules ------------------------------------------------------------------------------------------------------------


def test_rules_are_checked_and_read_back_as_they_were_set() -> None:
    rules = checked(["Password", "*_token"], {"ticket": r"TK-\d+"}, ["email", "email"], hook=True)
    assert rules == RedactionRules.read(rules.text())
    assert rules.keys == ("password", "*_token")
    assert rules.presets == ("email",)
    assert RedactionRules.read(RedactionRules().text()) is None
    assert RedactionRules.read(None) is None


@pytest.mark.parametrize(
    ("keys", "patterns", "presets"),
    [
        (["*"], {}, []), (["x" * 101], {}, []), ([], {"Bad Name": "a"}, []), ([], {"email": "a"}, []),
        ([], {"hook": "a"}, []), ([], {"x": "(a+)+"}, []), ([], {}, ["nobody"]), (["a"] * 201, {}, []),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_used_are_refused(keys: list[str], patterns: dict[str, str], presets: list[str]) -> None:
    with pytest.raises(BadRules):
        checked(keys, patterns, presets, hook=False)


# --- values -----------------------------------------------------------------------------------------------------------


def test_values_of_keys_are_masked_whatever_they_are_and_json_keeps_its_shape() -> None:
    value = {
        "Password": "hunter2", "deep": [{"refresh_token": {"a": 5, "b": ["x", None, True, ""]}}], "X-Api-Key": 12,
        "passwords": "stays", "ref": "sha256:" + "0" * 64,
    }  # fmt: skip
    assert Masker(ALL).json(value) == {
        "Password": "[masked:password]",
        "deep": [{"refresh_token": {"a": "[masked:_token]", "b": ["[masked:_token]", None, True, ""]}}],
        "X-Api-Key": "[masked:x---key]", "passwords": "stays", "ref": "sha256:" + "0" * 64,
    }  # fmt: skip


def test_json_in_texts_is_looked_into_and_names_of_members_are_searched() -> None:
    mask = Masker(ALL)
    arguments = json.dumps({"password": "hunter2", "to": "jo@example.com"})
    assert json.loads(mask.json({"arguments": arguments})["arguments"]) == {
        "password": "[masked:password]", "to": "[masked:email]",
    }  # fmt: skip
    assert mask.json({"jo@example.com": 1, "bo@example.com": 2}) == {"[masked:email]": 1, "[masked:email] 2": 2}
    assert mask.json('{"e": "jo\\u0040example.com"}') == '{"e":"[masked:email]"}'
    assert mask.json({"card": 4111111111111111, "n": 12345678}) == {"card": "[masked:credit_card]", "n": 12345678}


def test_a_member_that_another_of_the_same_name_hides_is_not_stored() -> None:
    masked = Masker(ALL).content(Content(b'{"a": "jo@example.com", "a": "fine"}', JSON))
    assert masked.is_masked
    assert masked.data == b'{"a":"fine"}'


def test_a_masked_message_is_still_a_message_and_names_the_same_parts() -> None:
    message: Any = {
        **text_message("user", "I am jo@example.com"),
        "parts": [
            {"type": "text", "content": "I am jo@example.com"},
            {"type": "playhead.ref", "of": "text", "ref": "sha256:" + "1" * 64, "bytes": 99},
        ],
    }
    content = content_of(message)
    masked = Masker(RedactionRules(keys=("type", "role", "ref"), presets=("email",))).content(content)
    assert masked.is_masked
    assert masked.ref == content.ref
    read: Any = read_message(masked.data)
    assert [read["role"], read["parts"][0]["content"], read["parts"][1]["ref"]] == [
        "user", "I am [masked:email]", "sha256:" + "1" * 64,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ("jo@example.com", "[masked:email]"), ({"a": "jo@example.com"}, {"a": "[masked:email]"}),
        ('{"a": "jo@example.com"}', '{"a":"[masked:email]"}'), ("[jo@example.com]", "[[masked:email]]"),
    ],
)  # fmt: skip
def test_what_is_left_of_a_content_is_read_as_the_content_would_be(sent: Any, left: Any) -> None:
    content = content_of(sent)
    wrongly_stored = Content(content.data, "image/png")  # the same bytes, from somebody else
    for arrived in (content, wrongly_stored):
        masked = Masker(ALL).content(arrived)
        assert masked.ref.digest == content.ref.digest
        assert masked.is_masked
        assert value_of(content_as(masked, content.ref)) == left
    assert content_as(Masker(ALL).content(content), content.ref).is_masked


def test_what_no_rule_matches_is_the_same_object() -> None:
    for value in ("fine", {"a": [1, 2.5, None]}, b"\xff\x00", '{"a" : 1}'):
        content = content_of(value)
        assert Masker(ALL).content(content) is content


# --- the hook ---------------------------------------------------------------------------------------------------------


def hooked(hook: Any, **rules: Any) -> Masker:
    return Masker(RedactionRules(hook=True, **rules), "blue", hook)


def test_the_hook_gets_copies_and_the_project_and_what_it_returns_is_masked_too() -> None:
    seen: list[Any] = []

    def hook(value: Any, project: str) -> Any:
        seen.append((json.dumps(value), project))
        if isinstance(value, dict):
            value["name"] = "N. N."
        return value

    value = {"name": "Jo", "mail": "jo@example.com"}
    assert hooked(hook, presets=("email",)).json(value) == {"name": "N. N.", "mail": "[masked:email]"}
    assert seen == [('{"mail": "jo@example.com", "name": "Jo"}', "blue")]
    assert value["name"] == "Jo"


@pytest.mark.parametrize("hook", [None, lambda value, project: 1 / 0, lambda value, project: b"bytes"])
def test_a_hook_that_fails_masks_all_and_is_counted(hook: Any) -> None:
    mask = hooked(hook)
    message = text_message("user", "secret")
    masked = mask.content(content_of(message))
    assert read_message(masked.data) == text_message("user", "[masked:hook]")
    assert mask.content(content_of("secret")).data == b"[masked:hook]"
    assert mask.counts["hook_failures"] == 2


def test_what_only_claims_to_be_a_thread_is_masked() -> None:
    claimed = Content(b'{"message": "write to jo@example.com"}', THREAD)
    assert masker(presets=("email",)).content(claimed).data == b'{"message":"write to [masked:email]"}'
    node = Content(node_bytes(ContentRef.of(b"a message"), ContentRef.of(b"a node")), THREAD)
    assert masker(keys=("message",), patterns=(("parents", "parent"),)).content(node) is node


def test_only_the_hook_sees_bytes() -> None:
    image = content_of(b"\xff\xd8jo@example.com")
    assert Masker(ALL).content(image) is image
    assert hooked(lambda value, project: b"\xff" if isinstance(value, bytes) else value).content(image).data == b"\xff"
    assert hooked(None).content(image).data == b"[masked:hook]"


def test_what_takes_too_long_or_is_nested_too_deeply_is_masked_as_a_whole() -> None:
    ticks = iter(range(0, 100_000, 10))
    slow = Masker(RedactionRules(presets=("email",)), clock=lambda: float(next(ticks)))
    assert slow.json({"a": ["fine"]}) == {"a": ["[masked:unreadable]"]}
    assert slow.counts["too_long"] == 1
    deep: Any = "secret"
    for _ in range(300):
        deep = [deep]
    assert "secret" not in json.dumps(Masker(ALL).json(deep))
    assert "unreadable" in json.dumps(Masker(ALL).json(deep))


# --- spans and log events ---------------------------------------------------------------------------------------------


def span(**attributes: Any) -> Span:
    return Span(
        "1" * 32, "2" * 16, None, "ask jo@example.com", 1, 2, attributes, status_message="for jo@example.com",
        events=[SpanEvent("exception", 1, {"exception.message": "no jo@example.com", "password": "hunter2"})],
        links=[{"trace": "3" * 32, "attributes": {"to": "jo@example.com"}}], resource={"owner": "jo@example.com"},
    )  # fmt: skip


def test_all_that_a_span_says_is_masked_and_what_connects_it_stays() -> None:
    ref = str(ContentRef.of(b"x"))
    sent = span(**{
        names.RUN_ID: "TK-12345678", names.INPUT_REF: ref, names.USER: "jo@example.com", "db.password": "hunter2",
        "password": "hunter2", "tags": ["jo@example.com", "fine"], names.TOOL_NAME: "look", "n": 5,
    })  # fmt: skip
    mask = Masker(ALL)
    [masked] = mask_spans(mask, [sent])
    assert masked.name == "ask [masked:email]"
    assert masked.status_message == "for [masked:email]"
    assert masked.attributes == {
        names.RUN_ID: "TK-12345678", names.INPUT_REF: ref, names.USER: "[masked:email]", "db.password": "hunter2",
        "password": "[masked:password]", "tags": ["[masked:email]", "fine"], names.TOOL_NAME: "look", "n": 5,
    }  # fmt: skip
    [event] = masked.events
    assert event.attributes == {"exception.message": "no [masked:email]", "password": "[masked:password]"}
    assert masked.links[0]["attributes"] == {"to": "[masked:email]"}
    assert masked.resource == {"owner": "[masked:email]"}
    assert mask.counts["spans"] == 1
    assert "jo@example.com" in sent.name
    assert mask_spans(mask, [masked])[0] is masked


def test_attributes_whose_names_become_the_same_are_all_kept() -> None:
    sent = {"jo@example.com": "one", "al@example.com": "two"}
    [masked] = mask_spans(Masker(ALL), [replace(span(), attributes=sent)])
    assert masked.attributes == {"[masked:email]": "one", "[masked:email] 2": "two"}


def test_rules_with_a_star_do_not_mean_names_of_the_conventions() -> None:
    sent = {names.RUN_NAME: "checkout", names.CALL_KEY: "a#1", "my.key": "k", names.CONVERSATION: "c"}
    log = LogEvent("said", 1, "1" * 32, None, sent)
    [masked] = mask_logs(Masker(RedactionRules(keys=(*("*",)[:0], "*key", "*name", "gen_ai.conversation.id"))), [log])
    assert masked.attributes == {
        **sent, "my.key": "[masked:key]", names.CONVERSATION: "[masked:gen_ai-conversation-id]",
    }  # fmt: skip


def test_the_hook_sees_what_records_say_and_a_failing_one_masks_it() -> None:
    def hook(value: Any, project: str) -> Any:
        return json.loads(json.dumps(value).replace("hunter2", "***"))

    sent = span(**{names.RUN_ID: "r", "a": "hunter2"})
    [masked] = mask_spans(hooked(hook), [sent])
    assert masked.attributes == {names.RUN_ID: "r", "a": "***"}
    assert masked.events[0].attributes["password"] == "***"
    [closed] = mask_spans(hooked(None), [sent])
    assert closed.attributes == {names.RUN_ID: "r", "a": "[masked:hook]"}
    assert closed.name == closed.status_message == "[masked:hook]"
    assert set(closed.events[0].attributes.values()) == {"[masked:hook]"}
    [log] = mask_logs(hooked(None), [LogEvent("e", 1, None, None, {"a": "hunter2"})])
    assert log.attributes == {"a": "[masked:hook]"}


# --- for all values ---------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=20),
    st.lists(
        st.sampled_from(
            [
                "jo@example.com",
                "TK-12345",
                "blue",
                " ",
                "foobaz",
                "4111111111111111",
                "[masked:email]",
                "[masked:",
                "]",
                '{"password":"x"}',
                "sha256:" + "0" * 64,
                "\u00e9",
                "foo",
                "baz",
                "-",
                "+49 30 123456",
            ]
        ),
        max_size=6,
    ).map("".join),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS | st.sampled_from(["password", "role", "a_token"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return ["object", *sorted((shape(item) for item in value.values()), key=repr)]
    return [shape(item) for item in value] if isinstance(value, list) else None


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_masking_is_idempotent_and_keeps_the_shape(value: Any) -> None:
    mask = Masker(ALL)
    once = mask.json(value)
    assert mask.json(once) == once
    assert shape(once) == shape(value)
    content = content_of(value)
    masked = mask.content(content)
    assert masked.ref == content.ref
    again = mask.content(masked)
    assert again is masked
    if content.media_type == JSON and isinstance(value, dict | list):
        assert shape(parse_json(masked.data)) == shape(value)
    assert masked.is_masked == (masked.data != content.data)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_no_secret_is_left_of_any_text(text: str) -> None:
    masked = Masker(ALL).text(text)
    for secret in ("jo@example.com", "TK-12345"):
        assert secret not in masked
    assert Masker(ALL).content(Content(text.encode("utf-8", "replace"), TEXT)).data.count(b"jo@example.com") == 0


def test_canonical_json_of_masked_values_is_stable() -> None:
    masked = Masker(ALL).content(Content(b'{ "b": "jo@example.com", "a": 1 }', JSON))
    assert masked.data == canonical_json({"a": 1, "b": "[masked:email]"})
