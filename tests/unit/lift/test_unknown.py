"""Spans of a dialect that nobody knows: what looks like content leaves them, and they are told apart."""

import json
from typing import Any

import pytest

from playhead.lift import lift, lift_log, scope_name
from playhead.model import names
from tests.unit.lift.spans import a_log, a_span, an_event, as_json, messages, value

SECRET = "where is the parcel of Jane Doe, 5 Elm Street, who called this morning?"
MESSAGES = as_json([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("input.text", SECRET),
        ("acme.prompt", SECRET),
        ("acme.completion.0.content", SECRET),
        ("genkit:output", SECRET),
        ("acme.messages", MESSAGES),
        ("x", MESSAGES),
        ("x", " " + as_json({"messages": []})),
        ("x", [{"role": "user", "content": "hi"}]),
        ("x", "y" * 1025),
        ("x_ref", "y" * 1025),
        ("metadata", [SECRET] * 20),
    ],
)
def test_what_looks_like_content_becomes_content_wherever_it_stands(key: str, content: Any):
    lifted = lift(a_span({key: content, "n": 1}, events=[an_event("e", **{key: content})]))
    assert not lifted.is_understood
    for attributes in (lifted.span.attributes, lifted.span.events[0].attributes):
        assert key not in attributes
        assert value(lifted, attributes[key + "_ref"]) == content
    assert lifted.span.attributes["n"] == 1
    log = lift_log(a_log({key: content}))
    assert (log.is_understood, value(log, log.log.attributes[key + "_ref"])) == (False, content)
    again = lift(lifted.span)
    assert (again.span, again.contents, again.is_understood) == (lifted.span, [], True)


@pytest.mark.parametrize(
    ("key", "inline"),
    [
        ("x", "y" * 1024),
        ("input.mime_type", "application/json"),
        ("x", as_json({"a": 1})),
        ("x", 5),
        ("tags", ["a", "b"]),
        ("output_ref", "gs://bucket/" + "a" * 100),
        ("db.query.text", "select " + "x" * 2000),
        ("exception.stacktrace", "Traceback\n" * 200),
        ("url.full", "https://example.com/" + "a" * 2000),
    ],
)
def test_what_people_filter_by_stays(key: str, inline: Any):
    lifted = lift(a_span({key: inline}, events=[an_event("e", **{key: inline})]))
    assert lifted.is_understood
    assert lifted.span.attributes == lifted.span.events[0].attributes == {key: inline}
    assert lifted.contents == []


def test_how_long_a_text_may_be_is_a_setting():
    assert lift(a_span({"x": "y" * 100})).is_understood
    lifted = lift(a_span({"x": "y" * 100}), 99)
    assert (lifted.is_understood, set(lifted.span.attributes)) == (False, {"x_ref"})


@pytest.mark.parametrize("in_event", [False, True])
def test_spans_that_a_dialect_understands_keep_their_other_attributes(in_event: bool):
    known = {names.INPUT_MESSAGES: as_json([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])}
    events = [an_event("gen_ai.client.inference.operation.details", **known)] if in_event else []
    lifted = lift(a_span({"input.note": SECRET} | ({} if in_event else known), events=events))
    assert lifted.is_understood
    assert lifted.span.attributes["input.note"] == SECRET
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF])
    assert lift(lifted.span).span == lifted.span


@pytest.mark.parametrize("nothing", [None, "[]", []])
def test_an_empty_value_of_a_dialect_does_not_make_the_others_understood(nothing: Any):
    lifted = lift(a_span({names.INPUT_MESSAGES: nothing, "x": MESSAGES}))
    again = lift(lifted.span)
    assert (again.span, again.contents) == (lifted.span, [])
    assert MESSAGES not in lifted.span.attributes.values()


def test_our_own_spans_keep_theirs():
    own = a_span({names.KIND: "tool", "input.note": SECRET}, scope=names.SCOPE, events=[an_event("e", x=MESSAGES)])
    lifted = lift(own)
    assert lifted.is_understood
    assert (lifted.span.attributes, lifted.span.events) == (own.attributes, own.events)


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 10_000])
def test_the_name_of_a_scope_can_be_shown(name: str):
    shown = scope_name(name)
    assert 1 <= len(shown) <= 100
    assert json.loads(json.dumps(shown)).encode("utf-8")
