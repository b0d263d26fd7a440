"""`playhead across`: analyses of many runs."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
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
_Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Show at most so many.")]


def _question(show: Callable[[Any], None], method: str, summary: str, **extra: tuple[Any, Any]) -> Callable[..., None]:
    """Makes a command that calls the client's `method`. Its options are the conditions for runs and `extra` (name →
    type and default). `show` prints the answer; `summary` is the help text."""

    def ask(ctx: typer.Context, json: bool, **options: Any) -> None:
        options["since"], options["until"] = parse_time_option(options["since"]), parse_time_option(options["until"])
        arguments = {name: value for name, value in options.items() if value is not None}
        with ctx.ensure_object(CollectorAddress).ask() as client:
            answer = getattr(client, method)(**arguments)
        if json:
            output.as_json(answer)
        else:
            output.facts(_population(answer["population"]))
            show(answer)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", keyword, annotation=typer.Context)]
    parameters += [inspect.Parameter(name, keyword, default=of, annotation=kind) for name, (kind, of) in extra.items()]
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in _CONDITIONS.items()
    ]
    parameters.append(inspect.Parameter("json", keyword, default=False, annotation=Json))
    made: Any = ask
    made.__signature__, made.__doc__ = inspect.Signature(parameters), summary
    return ask


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


def _statistics(answer: Any) -> None:
    columns = ("count", "mean", "p50", "p95", "max")
    rows = [(name, *(f"{row[column]:g}" for column in columns)) for name, row in answer["measures"].items()]
    output.table(("measure", *columns), rows)
    tools = ("tool", "runs", "calls", "failed", "returned_error")
    output.table(tools, [tuple(row[column] for column in tools) for row in answer["tools"]])


def _transitions(answer: Any) -> None:
    columns = ("from", "to", "times", "runs", "share", "succeeded", "evidence")
    output.table(columns, (
        (transition["source"], transition["to"], transition["times"], transition["runs"], f"{transition['share']:.2f}",
         _rate(transition["success"]), _moments(transition["evidence"]))
        for transition in answer["transitions"]
    ))  # fmt: skip


def _patterns(answer: Any) -> None:
    columns = ("after", "result", "choice", "runs", "share", "succeeded", "otherwise", "evidence")
    output.table(columns, (
        (pattern["tool"], pattern["result"], pattern["choice"], pattern["runs"], f"{pattern['share']:.2f}",
         _rate(pattern["success"]), _rate(pattern["otherwise"]), _moments(pattern["evidence"]))
        for pattern in answer["patterns"]
    ))  # fmt: skip


def _differences(answer: Any) -> None:
    if answer["note"]:
        typer.echo(answer["note"])
    columns = ("feature", "failed", "succeeded", "p", "q", "evidence")
    output.table(columns, map(_difference, answer["differences"]))
    output.facts({"features tried": answer["tried"], "correction of q": answer["correction"]})


def _difference(difference: OutcomeDifference) -> tuple[object, ...]:
    def side(value: Any) -> str:
        return f"{value['runs']} of {value['of']}" if isinstance(value, dict) else f"median {value:g}"

    sides, evidence = (
        (side(difference["failed"]), side(difference["succeeded"])),
        [run[-8:] for run in difference["evidence"]],
    )
    return difference["feature"], *sides, f"{difference['p']:.2g}", f"{difference['q']:.2g}", evidence


def _compression(answer: Any) -> None:
    output.table(
        ("compressions", "succeeded"), ((n, _rate(success)) for n, success in answer["by_compressions"].items())
    )
    output.facts({"p": answer["p"]})


def _failures(answer: Any) -> None:
    columns = ("runs", "share", "error", "of", "last decisions", "pattern", "evidence")
    output.table(columns, (
        (cluster["runs"], f"{cluster['share']:.2f}", cluster["error_type"], cluster["about"],
         [f"{step['tool']} {step['result']}" for step in cluster["last"]], cluster["pattern"],
         _moments(cluster["evidence"]))
        for cluster in answer["clusters"]
    ))  # fmt: skip


def _divergences(answer: Any) -> None:
    for divergence in answer["divergences"]:
        after = " > ".join(divergence["after"]) or "the beginning"
        output.echo(f"\n{divergence['task']}: {divergence['runs']} runs, {divergence['gain']:.2f} bits, after {after}")
        output.table(("choice", "arguments", "succeeded", "evidence"), _branches(divergence["branches"]))


def _branches(branches: Iterable[Any]) -> Iterable[tuple[object, ...]]:
    return (
        (branch["tool"], branch["arguments"], _rate(branch["success"]), _moments(branch["evidence"]))
        for branch in branches
    )


def _contents(answer: Any) -> None:
    columns = ("content", "role", "bytes", "sent", "runs", "share", "text")
    output.table(columns, (
        (content["content"], content["role"], content["bytes"], content["sent"], content["runs"],
         f"{content['share']:.3f}", output.shortened(content["preview"]))
        for content in answer["contents"]
    ))  # fmt: skip


_QUESTIONS: Mapping[str, Callable[..., None]] = {
    "statistics": _question(
        _statistics, "statistics", "Say what runs take: turns, tools, tokens, cost, time, context."
    ),
    "transitions": _question(_transitions, "transitions", "Say which tool follows which."),
    "patterns": _question(
        _patterns, "patterns", "Say what is called after which result, and how these runs end.", limit=(_Limit, 20)
    ),
    "differences": _question(
        _differences, "differences", "Say what distinguishes failed from succeeded runs.", limit=(_Limit, 20)
    ),
    "compression": _question(_compression, "compression_outcomes", "Say how runs end whose context was compressed."),
    "failures": _question(_failures, "failures", "Say which failures are alike.", limit=(_Limit, 20)),
    "divergences": _question(
        _divergences, "divergences", "Say where runs of one task part ways.", task=(_Task, "input"), limit=(_Limit, 10)
    ),
    "contents": _question(_contents, "context_contents", "Say which messages fill contexts most.", limit=(_Limit, 20)),
}
for _name, _ask in _QUESTIONS.items():
    app.command(_name)(_ask)
