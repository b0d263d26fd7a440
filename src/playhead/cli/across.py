"""`playhead across`: analyses of many runs."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import typer

from playhead.cli import output
from playhead.cli.derived import derived_command
from playhead.wire.operations.across import AcrossOperations, OutcomeDifference, SuccessRate
from playhead.wire.operations.operation import DeclaredOperation

app = typer.Typer(
    no_args_is_help=True,
    help="Ask about many runs: what they take, what they have in common, where failed and succeeded ones differ.",
)


def _after_population(show: Callable[[Any], None]) -> Callable[[Any], None]:
    """Returns a function that prints an answer: the runs that it is about, then what `show` prints."""

    def render(answer: Any) -> None:
        output.facts(_population(answer["population"]))
        show(answer)

    return render


def _population(population: Mapping[str, Any]) -> dict[str, Any]:
    names = ("runs", "succeeded", "failed", "without_outcome", "unfinished", "unindexed", "outcome")
    return {name.replace("_", " "): population[name] for name in names if population[name] != 0} | (
        {"more": "there are more runs than these: see --runs"} if population["more"] else {}
    )


def _rate(success: SuccessRate) -> str:
    """Returns `3/4 (0.30 to 0.95)`: succeeded runs of those with an outcome, and the 95 % interval."""
    of = success["succeeded"] + success["failed"]
    return f"{success['succeeded']}/{of}" + (f" ({success['low']:.2f} to {success['high']:.2f})" if of else "")


def _moments(evidence: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{event['run'][-8:]} at {event['seq']}" for event in evidence[:3])


def _fields(*names: str) -> output.Columns[Any]:
    """Returns columns with the title and the value of these fields."""
    return [(name, itemgetter(name)) for name in names]


def _statistics(answer: Any) -> None:
    output.rows_of(_MEASURE_COLUMNS, answer["measures"].items())
    output.rows_of(_TOOL_COLUMNS, answer["tools"])


def _figure(name: str) -> tuple[str, Callable[[Any], str]]:
    return name, lambda measure: f"{measure[1][name]:g}"


# Rows are pairs of a measure's name and its figures.
_MEASURE_COLUMNS: output.Columns[Any] = (
    ("measure", itemgetter(0)),
    *map(_figure, ("count", "mean", "p50", "p95", "max")),
)
_TOOL_COLUMNS: output.Columns[Any] = _fields("tool", "runs", "calls", "failed", "returned_error")


def _transitions(answer: Any) -> None:
    output.rows_of(_TRANSITION_COLUMNS, answer["transitions"])


_TRANSITION_COLUMNS: output.Columns[Any] = (
    ("from", itemgetter("source")),
    *_fields("to", "times", "runs"),
    ("share", lambda row: f"{row['share']:.2f}"),
    ("succeeded", lambda row: _rate(row["success"])),
    ("evidence", lambda row: _moments(row["evidence"])),
)


def _patterns(answer: Any) -> None:
    output.rows_of(_PATTERN_COLUMNS, answer["patterns"])


_PATTERN_COLUMNS: output.Columns[Any] = (
    ("after", itemgetter("tool")),
    *_fields("result", "choice", "runs"),
    ("share", lambda row: f"{row['share']:.2f}"),
    ("succeeded", lambda row: _rate(row["success"])),
    ("otherwise", lambda row: _rate(row["otherwise"])),
    ("evidence", lambda row: _moments(row["evidence"])),
)


def _differences(answer: Any) -> None:
    if answer["note"]:
        typer.echo(answer["note"])
    output.rows_of(_DIFFERENCE_COLUMNS, answer["differences"])
    output.facts({"features tried": answer["tried"], "correction of q": answer["correction"]})


def _side(value: object) -> str:
    return f"{value['runs']} of {value['of']}" if isinstance(value, dict) else f"median {value:g}"


_DIFFERENCE_COLUMNS: output.Columns[OutcomeDifference] = (
    ("feature", lambda row: row["feature"]),
    ("failed", lambda row: _side(row["failed"])),
    ("succeeded", lambda row: _side(row["succeeded"])),
    ("p", lambda row: f"{row['p']:.2g}"),
    ("q", lambda row: f"{row['q']:.2g}"),
    ("evidence", lambda row: [run[-8:] for run in row["evidence"]]),
)


def _compression(answer: Any) -> None:
    output.rows_of(_COMPRESSION_COLUMNS, answer["by_compressions"].items())
    output.facts({"p": answer["p"]})


# Rows are pairs of a number of compressions and the success of the runs with so many.
_COMPRESSION_COLUMNS: output.Columns[Any] = (
    ("compressions", itemgetter(0)),
    ("succeeded", lambda row: _rate(row[1])),
)


def _compression_timing(answer: Any) -> None:
    groups = [*answer["by_strategy"].items(), *answer["by_moment"].items()]
    output.rows_of(_TIMING_COLUMNS, groups)
    output.facts({"compressed runs": answer["read"], "p": answer["p"], "evidence": _moments(answer["evidence"])})


# Rows are pairs of a strategy or a moment, and the success of the runs with it.
_TIMING_COLUMNS: output.Columns[Any] = (
    ("compressed", itemgetter(0)),
    ("succeeded", lambda row: _rate(row[1])),
)


def _failures(answer: Any) -> None:
    output.rows_of(_FAILURE_COLUMNS, answer["clusters"])


_FAILURE_COLUMNS: output.Columns[Any] = (
    ("runs", itemgetter("runs")),
    ("share", lambda row: f"{row['share']:.2f}"),
    ("error", itemgetter("error_type")),
    ("of", itemgetter("about")),
    ("message", lambda cluster: cluster["message"] and output.shortened(cluster["message"])),
    ("last decisions", lambda row: [f"{step['tool']} {step['result']}" for step in row["last"]]),
    ("pattern", itemgetter("pattern")),
    ("evidence", lambda row: _moments(row["evidence"])),
)


def _divergences(answer: Any) -> None:
    for divergence in answer["divergences"]:
        after = " > ".join(divergence["after"]) or "the beginning"
        output.echo(f"\n{divergence['task']}: {divergence['runs']} runs, {divergence['gain']:.2f} bits, after {after}")
        output.rows_of(_BRANCH_COLUMNS, divergence["branches"])


_BRANCH_COLUMNS: output.Columns[Any] = (
    ("choice", itemgetter("tool")),
    ("arguments", itemgetter("arguments")),
    ("succeeded", lambda row: _rate(row["success"])),
    ("evidence", lambda row: _moments(row["evidence"])),
)


def _contents(answer: Any) -> None:
    output.rows_of(_CONTENT_COLUMNS, answer["contents"])


_CONTENT_COLUMNS: output.Columns[Any] = (
    *_fields("content", "role", "bytes", "sent", "runs"),
    ("share", lambda row: f"{row['share']:.3f}"),
    ("text", lambda row: output.shortened(row["preview"])),
)


_QUESTIONS: Mapping[str, tuple[DeclaredOperation, Callable[[Any], None]]] = {
    "statistics": (AcrossOperations.statistics, _statistics),
    "transitions": (AcrossOperations.transitions, _transitions),
    "patterns": (AcrossOperations.patterns, _patterns),
    "differences": (AcrossOperations.differences, _differences),
    "compression": (AcrossOperations.compression_outcomes, _compression),
    "compression-timing": (AcrossOperations.compression_timing, _compression_timing),
    "failures": (AcrossOperations.failures, _failures),
    "divergences": (AcrossOperations.divergences, _divergences),
    "contents": (AcrossOperations.context_contents, _contents),
}
for _name, (_operation, _show) in _QUESTIONS.items():
    app.command(_name)(derived_command(_operation, _after_population(_show)))
