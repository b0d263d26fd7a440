"""`playhead across`: analyses of many runs."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import ask
from playhead.cli.options import (
    Json,
    OfAgent,
    OfModel,
    OfSession,
    OfStatus,
    OfTag,
    OfTool,
    OfUser,
    Since,
    Until,
    parse_time_option,
)
from playhead.wire.operations.across import OutcomeDifference, SuccessRate

app = typer.Typer(
    no_args_is_help=True,
    help="Ask about many runs: what they take, what they have in common, where failed and succeeded ones differ.",
)
_OUTCOME = "When a run has succeeded: a score as NAME, NAME=VALUE or 'NAME>=0.5'; default: when it completed."
_CONDITIONS: Mapping[str, Any] = {
    "agent": OfAgent, "status": OfStatus, "session": OfSession, "user": OfUser, "tag": OfTag, "model": OfModel,
    "tool": OfTool, "since": Since, "until": Until,
    "outcome": Annotated[str | None, typer.Option(help=_OUTCOME, show_default=False)],
    "runs": Annotated[int | None, typer.Option(help="Look at so many runs at most, the newest.", show_default=False)],
}  # fmt: skip
_TASK = "What runs of one task have in common: input, name, session, user, tag:PREFIX."
_Task = Annotated[str, typer.Option(help=_TASK)]
_CONTAINS = "Only choices of model calls whose context contains this text."
_Contains = Annotated[str | None, typer.Option(help=_CONTAINS, show_default=False)]
_Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Show at most so many.")]


def _question(show: Callable[[Any], None], method: str, summary: str, **extra: tuple[Any, Any]) -> Callable[..., None]:
    """Makes a command that calls the client's `method`. Its options are the conditions for runs and `extra` (name →
    type and default). `show` prints the answer; `summary` is the help text."""

    def command(ctx: typer.Context, json: bool, **options: Any) -> None:
        options["since"], options["until"] = parse_time_option(options["since"]), parse_time_option(options["until"])
        arguments = {name: value for name, value in options.items() if value is not None}
        with ask(ctx) as client:
            answer = getattr(client, method)(**arguments)
        output.answer_as(json, answer, render)

    def render(answer: Any) -> None:
        output.facts(_population(answer["population"]))
        show(answer)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", keyword, annotation=typer.Context)]
    parameters += [inspect.Parameter(name, keyword, default=of, annotation=kind) for name, (kind, of) in extra.items()]
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in _CONDITIONS.items()
    ]
    parameters.append(inspect.Parameter("json", keyword, default=False, annotation=Json))
    made: Any = command
    made.__signature__, made.__doc__ = inspect.Signature(parameters), summary
    return command


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


def _side(value: Any) -> str:
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


_QUESTIONS: Mapping[str, Callable[..., None]] = {
    "statistics": _question(
        _statistics, "statistics", "Say what runs take: turns, tools, tokens, cost, time, context."
    ),
    "transitions": _question(_transitions, "transitions", "Say which tool follows which."),
    "patterns": _question(
        _patterns,
        "patterns",
        "Say what is called after which result, and how these runs end.",
        contains=(_Contains, None),
        limit=(_Limit, 20),
    ),
    "differences": _question(
        _differences, "differences", "Say what distinguishes failed from succeeded runs.", limit=(_Limit, 20)
    ),
    "compression": _question(_compression, "compression_outcomes", "Say how runs end whose context was compressed."),
    "compression-timing": _question(
        _compression_timing, "compression_timing", "Say how runs end by how and when their context was compressed."
    ),
    "failures": _question(_failures, "failures", "Say which failures are alike.", limit=(_Limit, 20)),
    "divergences": _question(
        _divergences, "divergences", "Say where runs of one task part ways.", task=(_Task, "input"), limit=(_Limit, 10)
    ),
    "contents": _question(_contents, "context_contents", "Say which messages fill contexts most.", limit=(_Limit, 20)),
}
for _name, _ask in _QUESTIONS.items():
    app.command(_name)(_ask)
