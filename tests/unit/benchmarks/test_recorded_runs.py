"""Recorded runs there and back, the pure parts: what counts as the same context, and what is said when it is not."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import recorded_runs
from benchmarks.recorded_runs import PlaybackProblems, Report, load
from benchmarks.request_differences import difference, request_difference
from playhead.demo.stage import DemoFailed

TOOLS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": {"default": None}}}]
MESSAGES: list[Any] = [
    {"role": "user", "content": "Compare."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo", "n": 1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "-3"}]},
]


def compared(change: Callable[[list[Any], list[Any]], Any]) -> str | None:
    messages, tools = copy.deepcopy(MESSAGES), copy.deepcopy(TOOLS)
    change(messages, tools)
    found = request_difference(MESSAGES, TOOLS, {"messages": messages, "tools": tools})
    return str(found) if found else None


def function(messages: list[Any]) -> dict[str, Any]:
    return messages[1]["tool_calls"][0]["function"]


def test_a_context_equals_itself() -> None:
    assert compared(lambda messages, tools: None) is None


def test_the_order_of_keys_makes_no_difference() -> None:
    assert compared(lambda messages, tools: messages.append(dict(reversed(messages.pop().items())))) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m, _: m[0].update(content="Compare!"), "messages[0].content was 'Compare.', and is 'Compare!'"),
        (lambda m, _: m.pop(), "messages[2] was "),
        (lambda m, _: m[1].pop("content"), "messages[1].content was None, and is absent"),
        (lambda m, _: m[0].update(refusal=None), "messages[0].refusal was absent, and is None"),
        (lambda m, _: m[0].update(annotations=[]), "messages[0].annotations was absent, and is []"),
        (lambda m, _: m.append(m[0]), "messages[3] was absent"),
        (lambda m, _: m[2].update(name="x"), "messages[2].name was absent, and is 'x'"),
        (lambda m, _: function(m).update(arguments='{"n":1,"city":"Oslo"}'), "arguments was "),
        (lambda m, _: function(m).update(arguments='{"city": "Oslo", "n": 1'), "arguments was "),
        (lambda _, t: t[0]["function"]["parameters"].clear(), "tools[0].function.parameters.default was None"),
        (lambda _, t: t.clear(), "tools[0] was "),
        (lambda m, _: m.__setitem__(0, None), "messages[0] was "),
    ],
)
def test_the_first_difference_is_told(change: Callable[..., Any], told: str) -> None:
    assert told in (compared(change) or "the same")


def test_a_long_value_is_cut_where_it_is_told() -> None:
    assert len(str(difference("x" * 10_000, "y"))) < 300


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "has no recorded runs"),
        ({"a.json": '{"traj": []}'}, "has no recorded runs"),
        ({"a.json": '[{"traj": [{"content": "x"}]}]'}, "Missing required parameter: '[0].traj[0].role'"),
        ({"a.json": "[{"}, "a.json"),
    ],
)
def test_a_folder_without_recorded_runs_is_told_in_a_sentence(tmp_path: Path, files: dict[str, str], told: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DemoFailed, match="(?s).*") as raised:
        load(tmp_path, None)
    assert told in str(raised.value)


def test_a_folder_that_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="is not a folder"):
        load(tmp_path / "no", None)


def test_a_difference_is_a_failure_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(1, 0, 2, 0, 1_000, 100, 100, 200, 2, 1, 0.5)
    problems = PlaybackProblems([], ["file/0, model call 2: messages[0] was 1, and is 2"])
    monkeypatch.setattr(recorded_runs, "play", lambda *_: (report, problems))
    assert recorded_runs.run(Path(), as_json=True) == 1
    out, err = capsys.readouterr()
    assert '"contexts_equal": 1' in out
    assert "model call 2: messages[0] was 1, and is 2" in " ".join(err.split())


@pytest.mark.parametrize(
    ("checked", "problems", "told"),
    [
        (0, PlaybackProblems([], []), "nothing was checked"),
        (
            2,
            PlaybackProblems(["file/1: cannot be played again: X"], []),
            "1 runs could not be played: file/1: cannot be",
        ),
        (2, PlaybackProblems([f"file/{at}: no" for at in range(12)], []), "... and 2 more"),
    ],
)
def test_what_was_not_checked_is_a_failure(
    checked: int,
    problems: PlaybackProblems,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(1, len(problems.not_played), 2, 0, 1_000, 100, 100, 200, checked, checked, 0.5)
    monkeypatch.setattr(recorded_runs, "play", lambda *_: (report, problems))
    assert recorded_runs.run(Path()) == 1
    assert told in " ".join(capsys.readouterr().err.split())


def test_a_run_that_cannot_be_read_is_told_and_the_others_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"traj": [{"content": "x"}]}, {"traj": [{"role": "user", "content": "hi"}]}]')
    (tmp_path / "b.json").write_text("[{")
    skipped: list[str] = []
    assert [run.key for run in load(tmp_path, None, skipped.append)] == ["a/1"]
    assert ["b.json" in skipped[0], "[0].traj[0].role" in skipped[1]] == [True, True]
