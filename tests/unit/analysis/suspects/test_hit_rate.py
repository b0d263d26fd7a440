"""The labels are whole, and the docs claim what is measured with them."""

import json
from hashlib import sha256
from typing import Any

import pytest

from tests.support.replayed_runs import recorded_runs
from tests.support.suspects.airline import LABELS, labels, measure

DOCS = LABELS.parents[3] / "docs" / "suspects.md"
RUNS = {run.key: run for run in recorded_runs()}
needs_runs = pytest.mark.skipif(not RUNS, reason="there are no recorded runs: set PLAYHEAD_TRAJECTORIES")


def test_at_least_thirty_runs_are_labelled_and_half_of_them_set_aside_by_a_rule():
    rows: list[dict[str, Any]] = json.loads(LABELS.read_text("utf-8"))["labels"]
    assert len({row["run"] for row in rows}) == len(rows) >= 30
    assert all(row["reason"] and row["step"] not in row["also"] for row in rows)
    for row in rows:
        assert row["set_aside"] == bool(int(sha256(f"task {row['task']}".encode()).hexdigest(), 16) % 2)
    assert sum(row["set_aside"] for row in rows) >= len(rows) / 2
    assert all(row["set_aside"] for row in rows if row["blind"])


@needs_runs
def test_each_label_names_an_answer_of_a_failed_run():
    for label in labels():
        run = RUNS[label.run]
        assert run.record["reward"] == 0
        assert run.record["task_id"] == label.task
        assert label.step in run.turns


@needs_runs
@pytest.mark.parametrize(
    ("row", "side", "with_siblings"),
    [
        ("set aside", [label for label in labels() if label.set_aside], False),
        ("the same, with siblings", [label for label in labels() if label.set_aside], True),
        ("of these, labelled blind", [label for label in labels() if label.blind], False),
        ("tuned with", [label for label in labels() if not label.set_aside], False),
    ],
)
def test_the_docs_say_what_is_measured(row: str, side: Any, with_siblings: bool):
    found = measure(side, RUNS, with_siblings=with_siblings)
    figures = (found.first, found.first_three, found.chance_first, found.chance_first_three)
    first, three, chance, chance_three = (f"{100 * figure:.0f} %" for figure in figures)
    lines = DOCS.read_text("utf-8").splitlines()
    line = next(line for line in lines if line.startswith(f"| {row} | {found.runs} |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert [cells[2].split(" (")[0], cells[3].split(" (")[0], *cells[4:]] == [first, three, chance, chance_three]


@needs_runs
def test_it_is_better_than_chance_and_than_the_published_figure_on_runs_that_were_set_aside():
    found = measure([label for label in labels() if label.set_aside], RUNS)
    assert found.first > max(3 * found.chance_first, 0.142)
    assert found.first_three > 2 * found.chance_first_three
