import dataclasses
from typing import Any

import pytest

from playhead.model.canonical import parse_json
from playhead.model.event import EVENT_TYPES, Event, RunEvent, TokenUsage
from playhead.model.ref import ContentRef
from playhead.model.state import fold
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.postgres.events import PAGE_EVENTS, pack, pack_snapshots, unpack

REF = ContentRef.of(b"x")
VALUES: dict[str, Any] = {
    "str": "te\x00xt", "str | None": "\ud800", "int": 7, "int | None": 2**70, "float": 1.5, "float | None": 0.1,
    "bool": True, "tuple[str, ...]": ("a", "b"), "tuple[ContentRef, ...]": (REF,), "ContentRef | None": REF,
    "bool | None": True,
    "TokenUsage": TokenUsage(1, 2, 3, None, 5), "playhead.model.event.TokenUsage | None": TokenUsage(1),
    "float | int | str | None": 2**70, "float | bool | str": True,
    "dict[str, typing.Any]": {"n": [1, None]},
    "tuple[int, ...]": (3, 0),
}  # fmt: skip


def type_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("playhead.model.ref.", "")


def full(cls: type[Event], seq: int, **fields: Any) -> Any:
    """An event with every field set."""
    header = {"id": "x", "run": "r", "seq": seq, "time_ns": 2**64 - seq, "span": "s", "actor": "", "late": True}
    kinds = {each.name: each.type for each in dataclasses.fields(cls) if each.name not in header}
    values = {name: VALUES[type_name(kind)] for name, kind in kinds.items()}
    return cls(**header | values | fields)


def bare(cls: type[Event], seq: int) -> Any:
    """An event with no field set that has a default."""
    unset = dataclasses.MISSING
    needed = [each for each in dataclasses.fields(cls) if each.default is unset and each.default_factory is unset]
    values: dict[str, Any] = {"id": f".{cls.kind}.3", "run": "r", "seq": seq, "time_ns": 0}
    return cls(**{each.name: VALUES[type_name(each.type)] for each in needed if each.name not in values} | values)


def read(events: list[RunEvent]) -> list[RunEvent]:
    return [event for page in pack(events) for event in unpack("r", page.first, decompress_json(page.body))]


@pytest.mark.parametrize("make", [full, bare])
def test_every_kind_comes_back_as_it_was(make: Any):
    events = [make(cls, seq) for seq, cls in enumerate(EVENT_TYPES.values(), 1)]
    assert read(events) == events


@pytest.mark.parametrize("number", ["0", "12", "007", "-1", "", "\u0662", "1.2"])
def test_an_id_comes_back_whether_it_follows_from_the_rest_or_not(number: str):
    for event_id in (f"s.llm_called.{number}", f"t.llm_called.{number}", number):
        event = full(EVENT_TYPES["llm_called"], 1, id=event_id)
        assert read([event]) == [event]


def test_an_id_that_follows_from_the_rest_is_not_stored():
    page = pack([full(EVENT_TYPES["llm_called"], 1, id="s.llm_called.4")])[0]
    assert parse_json(decompress_json(page.body))["events"][0][1] == 4


def test_pages_have_the_seqs_that_they_say():
    events = [bare(EVENT_TYPES["user_interrupted"], seq) for seq in range(1, 2 * PAGE_EVENTS + 2)]
    assert [(page.page, page.first, page.last) for page in pack(events)] == [(0, 1, 256), (1, 257, 512), (2, 513, 513)]
    assert pack([]) == []


def test_snapshots_share_the_history():
    events = [full(EVENT_TYPES["message_added"], seq, message=ContentRef.of(b"%d" % seq)) for seq in range(1, 31)]
    snapshots = pack_snapshots([fold(events[:10]), fold(events[:10]), fold(events[:30])])
    assert [len(snapshot.history) for snapshot in snapshots] == [320, 0, 640]
