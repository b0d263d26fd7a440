"""What must hold of the answers about any runs."""

from hypothesis import given
from hypothesis import strategies as st

from playhead.projection.run_row import RunRow
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort, Member
from playhead_collector.analysis.across.divergences import TaskChoice, TaskPath, divergences_of
from playhead_collector.analysis.across.tool_sequences import END, ToolPath, ToolStep, patterns_of, transitions_of

POPULATION = {
    "runs": 0, "succeeded": 0, "failed": 0, "without_outcome": 0, "unfinished": 0, "unindexed": 0, "more": False,
    "outcome": "status",
}  # fmt: skip
NOBODY = Cohort((), POPULATION)  # pyright: ignore[reportArgumentType]
THE_END = TaskChoice(END, b"null", 9)
Made = list[tuple[bool, list[tuple[str, str]]]]
made = st.lists(
    st.tuples(
        st.booleans(),
        st.lists(
            st.tuples(st.sampled_from("abc"), st.sampled_from(["completed", "returned_error", "failed"])), max_size=4
        ),
    ),
    max_size=16,
)


def member(number: int, succeeded: bool) -> Member:
    row = RunRow(f"{number:032x}", "r", "completed", number, number + 1)
    return Member(row, succeeded)


def paths(runs: Made) -> list[ToolPath]:
    return [
        ToolPath(member(number, ended), [ToolStep(tool, result, seq) for seq, (tool, result) in enumerate(steps, 2)])
        for number, (ended, steps) in enumerate(runs)
    ]


@given(made)
def test_every_step_is_one_transition_and_every_pattern_has_enough_runs(runs: Made):
    graph = transitions_of(NOBODY, paths(runs))
    assert sum(each["times"] for each in graph["transitions"]) == sum(len(steps) + 1 for _, steps in runs)
    for source in {each["source"] for each in graph["transitions"]}:
        assert abs(sum(each["share"] for each in graph["transitions"] if each["source"] == source) - 1) < 1e-4
    for each in patterns_of(NOBODY, paths(runs), 1_000)["patterns"]:
        assert each["success"]["succeeded"] + each["success"]["failed"] == each["runs"] >= MIN_RUNS
        assert each["times"] >= each["runs"] >= len(each["evidence"]) > 0


@given(made)
def test_branches_part_the_runs_of_a_divergence_and_tell_something_of_the_outcome(runs: Made):
    of_task = [
        TaskPath("t", member(number, ended), [*(TaskChoice(tool, b"1", 2) for tool, _ in steps), THE_END])
        for number, (ended, steps) in enumerate(runs)
    ]
    for each in divergences_of(NOBODY, of_task, 1_000)["divergences"]:
        counted = [branch["success"]["succeeded"] + branch["success"]["failed"] for branch in each["branches"]]
        assert sum(counted) == each["runs"]
        assert len(counted) > 1
        assert 0 < each["gain"] <= 1
        assert each["pattern"] == (sum(count >= MIN_RUNS for count in counted) > 1)
