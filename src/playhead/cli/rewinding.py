"""Commands that run a program again on a recorded run: resume, fork. The program's own code is not changed.

`starting_again` starts the program. It is imported when a command runs: replaying takes 0.15 s to import.
"""

import json
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any

import typer

from playhead.cli import connection
from playhead.cli.connection import ask
from playhead.cli.fork_outcomes import BY_HELP
from playhead.cli.options import Run
from playhead.errors import ClientError, CollectorUnreachable, NoRecord, SettingInvalid

_SPAN_ID_DIGITS = 16
_BEGINS_JSON = ("{", "[", '"')

Program = Annotated[list[str], typer.Argument(help="The program, as it is always started.", show_default=False)]

# --- playhead resume --------------------------------------------------------------------------------------------------

_InDoubt = Annotated[
    str | None,
    typer.Option(help="A tool that had begun when the process died: raise (the default), or rerun."),
]
_OnDivergence = Annotated[
    str | None,
    typer.Option(help="The program asks something else than it did: raise (the default), or live."),
]
_Completed = Annotated[
    str | None,
    typer.Option(
        help="With --on-divergence live, a tool that had completed with the same arguments: raise (the default), "
        "reuse (its recorded result), or rerun."
    ),
]
_Live = Annotated[
    str | None,
    typer.Option(
        help="What is executed where the record ends: all, or llm (no tools). A fork goes on as it was made, "
        "another run with all."
    ),
]
_Tools = Annotated[str | None, typer.Option(help="With llm, tools that the record cannot answer: deny (the default).")]
_OtherProcesses = Annotated[
    str | None,
    typer.Option(help="Calls of other processes that would be made again: raise (the default), or rerun."),
]
_Renamed = Annotated[
    list[str] | None,
    typer.Option(
        help="OLD=NEW: the path of an observed function that has another name or place now. May be given again.",
        show_default=False,
    ),
]
_New = Annotated[
    list[str] | None,
    typer.Option(help="A function that the program did not have, and not a renamed one.", show_default=False),
]
_Outcomes = Annotated[
    list[str] | None,
    typer.Option(help="SEQ_OR_ID=JSON: what came of a call. May be given again.", show_default=False),
]
_Unrecorded = Annotated[
    str | None,
    typer.Option(
        help="Tools that models asked for and that were executed outside the record: raise (the default: say "
        "which, and stop), or rerun."
    ),
]
_RecordTools = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        metavar="MODULE:FUNCTION",
        help="A function to record as a tool, as of `playhead run`, besides those that were. May be given again.",
        show_default=False,
    ),
]
_Force = Annotated[
    bool,
    typer.Option("--force", help="Even if another process has it, or has not delivered all: that one is stopped."),
]


def resume(
    ctx: typer.Context,
    run: Run,
    program: Program,
    in_doubt: _InDoubt = None,
    on_divergence: _OnDivergence = None,
    completed: _Completed = None,
    live: _Live = None,
    tools: _Tools = None,
    other_processes: _OtherProcesses = None,
    renamed: _Renamed = None,
    new: _New = None,
    outcome: _Outcomes = None,
    unrecorded: _Unrecorded = None,
    tool: _RecordTools = None,
    force: _Force = False,
) -> None:
    """Run a program again where its run ended: recorded calls are answered, the rest goes live.

    playhead resume [OPTIONS] RUN -- python agent.py
    """
    from playhead.cli.starting_again import check_choices, start  # noqa: PLC0415 - `--help` does without replaying

    options: dict[str, Any] = {"in_doubt": in_doubt, "live": live, "tools": tools, "other_processes": other_processes}
    options |= {"unrecorded": unrecorded, "on_divergence": on_divergence, "completed": completed}
    check_choices(options)
    options |= {"force": force, "renamed": _renamed_paths(renamed or ()), "new": new}
    options["outcomes"] = dict(map(_named_outcome, outcome or ()))
    request = {"resume": _run_id(ctx, run), "options": options, "record_tools": tool or []}
    raise typer.Exit(start(program, request).returncode)


# --- playhead fork ----------------------------------------------------------------------------------------------------


def fork(
    ctx: typer.Context,
    run: Run,
    program: Program,
    at: Annotated[str, typer.Option(help="The step: its seq, or its event's id.", show_default=False)],
    outcome: Annotated[
        str | None,
        typer.Option(
            help='What comes of it instead: {"result": ...}, {"error": ...}, {"message": ...}, or a value; '
            'or what a model is asked: {"system": "..."}, {"messages": {"2": "..."}}.'
        ),
    ] = None,
    live: Annotated[str, typer.Option(help="What runs live after it: all, or llm (tools are not executed).")] = "all",
    tools: Annotated[str, typer.Option(help="With --live llm, tools that the record cannot answer: deny.")] = "deny",
    in_doubt: Annotated[str, typer.Option(help="A tool whose result cannot be given back: rerun, or raise.")] = "rerun",
    on_divergence: Annotated[
        str, typer.Option(help="Before the step, the program asks something else than it did: live, or raise.")
    ] = "live",
    completed: Annotated[
        str, typer.Option(help="What had completed and goes live all the same: rerun, reuse, or raise.")
    ] = "rerun",
    other_processes: Annotated[
        str, typer.Option(help="Calls of other processes before the step that would be made again: raise, or rerun.")
    ] = "raise",
    renamed: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW, as of `resume`. May be given again.", show_default=False)
    ] = None,
    new: Annotated[
        list[str] | None, typer.Option(help="A new function, as of `resume`. May be given again.", show_default=False)
    ] = None,
    unrecorded: Annotated[
        str | None, typer.Option(help="Tools that were executed outside the record, as of `resume`: raise, or rerun.")
    ] = None,
    tool: _RecordTools = None,
    times: Annotated[int, typer.Option(min=1, help="So many forks, some at the same time, and a summary.")] = 1,
    by: Annotated[str, typer.Option(help=f"With --times. {BY_HELP}")] = "line",
) -> None:
    """Run a program again up to a step, and on from there with another outcome, as a new run.

    playhead fork [OPTIONS] RUN --at 9 -- python agent.py
    """
    from playhead.cli.starting_again import check_choices, start, start_many  # noqa: PLC0415 - see `resume`

    options: dict[str, Any] = {"live": live, "in_doubt": in_doubt, "other_processes": other_processes}
    options |= {"unrecorded": unrecorded, "on_divergence": on_divergence, "completed": completed}
    check_choices({"tools": tools, **options})
    options |= {"renamed": _renamed_paths(renamed or ()), "new": new, "tools": tools if live == "llm" else None}
    if outcome is not None:
        options["outcome"] = _outcome(outcome)
    run_id = _run_id(ctx, run)
    is_seq = at.isdecimal() and len(at) < _SPAN_ID_DIGITS
    options = {"at": _span_at(ctx, run_id, int(at)) if is_seq else at, **options}
    request = {"fork": run_id, "options": options, "record_tools": tool or []}
    if times == 1:
        raise typer.Exit(start(program, request).returncode)
    start_many(program, request, times, by, partial(ask, ctx))


# --- what both need ---------------------------------------------------------------------------------------------------


def _run_id(ctx: typer.Context, run: str) -> str:
    if len(run) == 32:  # a whole id needs no request: the journal may have the run
        return run
    try:
        with ask(ctx) as client:
            return connection.run_id(client, run)
    except CollectorUnreachable as error:
        raise CollectorUnreachable(f"{error}; a run's whole id needs none where its journal is") from None


def _span_at(ctx: typer.Context, run_id: str, seq: int) -> int | str:
    """Returns the span id of this event; the seq if the event cannot be read here, since the program may use another
    journal.

    Raises NoRecord if the run has no such event, or if the event belongs to no call.
    """
    try:
        with ask(ctx) as client:
            events = list(client.events(run_id, after=max(seq, 1) - 1, limit=1))
    except ClientError:
        return seq  # the program looks it up in its journal, and reports if that fails
    if not events or events[0]["seq"] != seq or not events[0]["span"]:
        raise NoRecord(f"run {run_id} has no call at {seq}; see `playhead events {run_id}` for what it has")
    return events[0]["span"]


def _named_outcome(text: str) -> tuple[str, Any]:
    event, equals, outcome = text.partition("=")
    if not equals or not event:
        raise SettingInvalid(f"--outcome {text}: expected SEQ_OR_ID=JSON, for example 9='{{\"result\": 5}}'")
    return event, _outcome(outcome)


def _renamed_paths(renamed: Iterable[str]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for pair in renamed:
        old, _, now = pair.partition("=")
        if not old or not now:
            raise SettingInvalid(f"--renamed {pair}: expected OLD=NEW, for example trip/plan=trip/make_plan")
        paths[old] = now
    return paths


def _outcome(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in _BEGINS_JSON:
            expected = 'JSON such as {"result": 5} or {"error": "timeout"}, quoted for your shell, or a plain text'
            raise SettingInvalid(
                f"--outcome {text}: this begins like JSON and is none ({error}); expected {expected} "
                '(a text that begins with {, [ or " has to be a JSON string)'
            ) from error
        return text  # a plain text: the result of a tool, or the answer of a model
