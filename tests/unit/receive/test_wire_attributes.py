"""Attributes of large messages are read from the wire as protobuf reads them."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1 import trace_pb2

from playhead_collector.receive.otlp.protobuf import Malformed, TooManyParts, count_parts, take_attributes

SPAN, LOG = 9, 6
Values = dict[str, AnyValue]


def value_of(pair: KeyValue) -> bytes:
    """What stands for a value that is no text."""
    return pair.value.SerializeToString()


def meaning(message: Any) -> dict[str, Any]:
    """The attributes of a parsed message, with values as `value_of` has them."""
    return {
        pair.key: pair.value.string_value if pair.value.HasField("string_value") else value_of(pair)
        for pair in message.attributes
    }


def taken(data: bytes, number: int = SPAN, most: int = 10_000) -> tuple[dict[str, Any], bytes, int]:
    def other(pair: KeyValue) -> Any:
        return pair.value.string_value if pair.value.HasField("string_value") else value_of(pair)

    return take_attributes(data, number, most, other)


any_values = st.one_of(
    st.builds(lambda text: AnyValue(string_value=text), st.text()),
    st.builds(lambda number: AnyValue(int_value=number), st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda data: AnyValue(bytes_value=data), st.binary()),
    st.just(AnyValue()),
    st.builds(
        lambda texts: AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=text) for text in texts])),
        st.lists(st.text(), max_size=3),
    ),
)


def pairs(values: Values) -> list[KeyValue]:
    return [KeyValue(key=key, value=value) for key, value in values.items()]


def a_span(values: Values) -> trace_pb2.Span:
    event = trace_pb2.Span.Event(name="an event", attributes=pairs(values))
    return trace_pb2.Span(trace_id=b"t" * 16, name="a span", attributes=pairs(values), events=[event], flags=3)


@given(values=st.dictionaries(st.text(), any_values, max_size=8))
def test_what_is_taken_and_what_is_left_are_the_span(values: Values):
    span = a_span(values)
    data = span.SerializeToString()
    attributes, rest, parts = taken(data)
    assert attributes == meaning(span)
    left = trace_pb2.Span.FromString(rest)
    assert parts + count_parts(rest, "Span", 10_000) == count_parts(data, "Span", 10_000)
    del span.attributes[:]
    assert left == span


@given(values=st.dictionaries(st.text(), any_values, max_size=8))
def test_the_same_for_a_log_record(values: Values):
    record = LogRecord(body=AnyValue(string_value="said"), attributes=pairs(values), event_name="an event")
    attributes, rest, _ = taken(record.SerializeToString(), LOG)
    assert attributes == meaning(record)
    del record.attributes[:]
    assert LogRecord.FromString(rest) == record


LENGTHS = [0, 1, *range(120, 130), *range(16_370, 16_390), 2_097_140, 2_097_160]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_of_any_length_is_read_without_protobuf(length: int):
    """Lengths take one to four bytes, each of two messages and of the text."""

    def refused(pair: KeyValue) -> Any:
        raise AssertionError(pair.key)

    span = trace_pb2.Span(attributes=pairs({"key": AnyValue(string_value="x" * length)}))
    data = span.SerializeToString()
    assert take_attributes(data, SPAN, 10, refused) == ({"key": "x" * length}, b"", count_parts(data, "Span", 10))


BASE = a_span({"text": AnyValue(string_value="a text"), "": AnyValue(string_value=""), "n": AnyValue(int_value=300)})


@given(
    at=st.integers(0, len(BASE.SerializeToString()) - 1),
    byte=st.integers(0, 255),
    cut=st.integers(0, len(BASE.SerializeToString())),
)
@example(at=0, byte=0xCA, cut=0)
def test_damage_means_what_it_means_to_protobuf(at: int, byte: int, cut: int):
    data = bytearray(BASE.SerializeToString())
    data[at] = byte
    damaged = bytes(data[: len(data) - cut])
    try:
        attributes, rest, _ = taken(damaged)
        left = trace_pb2.Span.FromString(rest)
    except (Malformed, DecodeError, TooManyParts):
        return
    span = trace_pb2.Span.FromString(damaged)  # what we read, protobuf reads
    assert attributes | meaning(left) == meaning(span)


@pytest.mark.parametrize("most", [10, 11])
def test_more_parts_than_are_allowed_are_not_made(most: int):
    values = {str(number): AnyValue(string_value="text") for number in range(5)}  # of two parts each
    values["last"] = AnyValue()
    with pytest.raises(TooManyParts):
        taken(a_span(values).SerializeToString(), most=most)
    assert taken(a_span(values).SerializeToString(), most=12)[2] == 12


def test_a_text_that_is_not_utf_8_is_damage():
    data = trace_pb2.Span(attributes=pairs({"key": AnyValue(string_value="text")})).SerializeToString()
    with pytest.raises(Malformed, match="UTF-8"):
        taken(data.replace(b"text", b"te\xff\xff"))
