"""A program says that it has compressed its context: what it says is in the journal, and nothing goes wrong for it."""

from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.span import LogEvent
from tests.support.journal_reader import Journaled, Recording, start_recording

SYSTEM: Any = {"role": "system", "content": "Be brief."}
QUESTION: Any = {"role": "user", "content": "Where is order A1? My card is 4111."}
ANSWER: Any = {"role": "assistant", "content": "It is on its way."}
SUMMARY: Any = {"role": "user", "content": "Summary of the conversation: order A1 is on its way."}
NEXT: Any = {"role": "user", "content": "Thanks."}
BEFORE, AFTER = [SYSTEM, QUESTION, ANSWER, NEXT], [SYSTEM, SUMMARY, NEXT]


def said(seen: Journaled) -> LogEvent:
    [log] = [log for log in seen.logs if log.name == names.COMPRESSED]
    return log


def texts(seen: Journaled, log: LogEvent, name: str) -> list[str]:
    return [message["parts"][0]["content"] for message in seen.messages(log.attributes[name])]


@pytest.mark.usefixtures("quiet")
def test_both_contexts_are_threads_and_the_summary_is_a_message_of_the_one_after(recording: Recording):
    @observe
    def compress() -> None:
        playhead.compressed(before=BEFORE, after=AFTER, summary=SUMMARY, strategy="summary")

    with playhead.run("r"):
        compress()
    seen = recording.read()
    log = said(seen)
    assert log.span_id == seen.call("compress").span_id
    assert log.attributes[names.COMPRESSION_STRATEGY] == "summary"
    assert texts(seen, log, names.COMPRESSION_BEFORE_REF) == [message["content"] for message in BEFORE]
    assert texts(seen, log, names.COMPRESSION_AFTER_REF) == [message["content"] for message in AFTER]
    after = log.attributes[names.COMPRESSION_AFTER_REF]
    assert seen.value(log, names.COMPRESSION_SUMMARY_REF) == seen.messages(after)[1]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("summary", "text"),
    [("order A1 is on its way", SUMMARY["content"]), ("said elsewhere", "said elsewhere"), ("", None), (None, None)],
    ids=["within", "elsewhere", "empty", "none"],
)
def test_a_summary_may_be_a_text(recording: Recording, summary: str | None, text: str | None):
    with playhead.run("r"):
        playhead.compressed(before=BEFORE, after=iter(AFTER), summary=summary)
    log = said(seen := recording.read())
    if text is None:
        assert names.COMPRESSION_SUMMARY_REF not in log.attributes
    else:
        value = seen.value(log, names.COMPRESSION_SUMMARY_REF)
        assert value == {"role": "user", "parts": [{"type": "text", "content": text}]}
    assert names.COMPRESSION_STRATEGY not in log.attributes


@pytest.mark.usefixtures("quiet")
def test_the_calls_redaction_holds_for_all_three(recording: Recording):
    def hide(value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("content"), str):
            return value | {"content": value["content"].replace("4111", "****").replace("A1", "**")}
        return value

    with playhead.run("r", redact=hide):
        playhead.compressed(before=BEFORE, after=AFTER, summary="order A1 is on its way")
    seen = recording.read()
    log = said(seen)
    assert texts(seen, log, names.COMPRESSION_BEFORE_REF)[1] == "Where is order **? My card is ****."
    after = log.attributes[names.COMPRESSION_AFTER_REF]
    assert seen.value(log, names.COMPRESSION_SUMMARY_REF) == seen.messages(after)[1]
    kept = str([value_of(content) for content in seen.contents.values()])
    assert "4111" not in kept
    assert "A1" not in kept


@pytest.mark.usefixtures("quiet")
def test_without_content_only_the_strategy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_CAPTURE_CONTENT", "false")
    for recording in start_recording(tmp_path / "bare", monkeypatch):
        with playhead.run("r"):
            playhead.compressed(before=BEFORE, after=AFTER, summary=SUMMARY, strategy="summary")
        seen = recording.read()
        told = {name for name in said(seen).attributes if name.startswith("playhead.compression")}
        assert told == {names.COMPRESSION_STRATEGY}
        assert seen.contents == {}


class _Odd:
    @property
    def content(self) -> str:
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("before", "after"), [(None, AFTER), (BEFORE, 5), ([_Odd()], [_Odd(), "x"])], ids=["none", "number", "objects"]
)
def test_nothing_of_it_is_raised_into_the_program(recording: Recording, before: Any, after: Any):
    odd: Any = _Odd()
    with playhead.run("r"):
        playhead.compressed(before=before, after=after, summary="s", strategy=odd)
    assert recording.read().call("r").status == 0
