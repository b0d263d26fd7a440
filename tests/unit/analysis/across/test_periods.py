"""Numbers of runs over time."""

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.times import parse_time
from playhead.projection.run_row import RunRow
from playhead_collector.analysis.across.cohort import Member
from playhead_collector.analysis.across.statistics import PERIODS, periods_of


def member(number: int, started_ns: int, succeeded: bool | None = True) -> Member:
    return Member(RunRow(f"{number:032x}", "r", "completed", started_ns, started_ns + 1, errors=number), succeeded)


def errors(row: RunRow) -> float | None:
    return row.errors or None


def test_each_part_has_the_runs_that_began_in_it():
    outcomes = (True, False, None, True)
    runs = [member(n, at, outcome) for n, (at, outcome) in enumerate(zip((0, 9, 10, 39), outcomes, strict=True))]
    parts = periods_of(runs, {"errors": errors}, count=4)
    assert [(each["runs"], each["succeeded"], each["failed"]) for each in parts] == [
        (2, 1, 1), (1, 0, 0), (0, 0, 0), (1, 1, 0)
    ]  # fmt: skip
    assert [each["since"][-10:] for each in parts] == ["000000000Z", "000000010Z", "000000020Z", "000000030Z"]
    assert parts[0]["measures"] == {"errors": {"count": 1, "p50": 1, "p95": 1, "sum": 1}}  # of one it is not known
    assert parts[2]["measures"] == {}


def test_there_are_no_parts_of_one_moment():
    assert periods_of([], {}) == []
    assert periods_of([member(1, 5), member(2, 5)], {"errors": errors}) == []


@given(st.lists(st.integers(0, 2**62), min_size=2, unique=True))
def test_every_run_is_in_the_part_that_its_start_says(starts: list[int]):
    parts = periods_of([member(n, at) for n, at in enumerate(starts)], {})
    assert (len(parts), sum(each["runs"] for each in parts)) == (PERIODS, len(starts))
    for each in parts:
        inside = [at for at in starts if parse_time(each["since"]) <= at < parse_time(each["until"])]
        assert each["runs"] == len(inside)
