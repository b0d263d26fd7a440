"""The commands of `playhead search`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, ask
from playhead.cli.options import Json, Limit, Since, Until, first_rows, parse_time_option
from playhead.wire.operations.search import FoundDecision, FoundText, FoundValue, Reason

if TYPE_CHECKING:
    from playhead.client.operations import BlockingClient

app = typer.Typer(help="Search the decisions, or the texts, of all runs.", no_args_is_help=True)

_Kind = Literal["tool_call", "tool_request", "answer", "handoff", "branch", "approval", "stop"]
_Result = Literal["ok", "error", "empty", "cancelled", "open", "unknown"]
_After = Literal["first", "ok", "error", "empty", "cancelled", "unknown"]
_Source = Literal[
    "user", "tool_result", "assistant", "system", "definition", "derived", "not_found", "program", "invented"
]
_Status = Literal["completed", "failed", "cancelled"]
_Argument = Annotated[
    list[str] | None,
    typer.Option("--argument", help="NAME=VALUE: an argument of the call; may be repeated.", show_default=False),
]


@app.command("decisions")
def decisions(
    ctx: typer.Context,
    tool: Annotated[str | None, typer.Option(help="The tool that was called.", show_default=False)] = None,
    argument: _Argument = None,
    value: Annotated[str | None, typer.Option(help="A value of any argument.", show_default=False)] = None,
    result: Annotated[_Result | None, typer.Option(help="What the call came to.", show_default=False)] = None,
    after: Annotated[_After | None, typer.Option(help="Result of the call before it.", show_default=False)] = None,
    source: Annotated[_Source | None, typer.Option(help="Where a value is from.", show_default=False)] = None,
    suspect: Annotated[bool, typer.Option("--suspect", help="With a value from nowhere, or a wrong place.")] = False,
    attribution: Annotated[str | None, typer.Option(help="Why the tool was called.", show_default=False)] = None,
    kind: Annotated[_Kind | None, typer.Option(help="The kind of decision.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that decided.", show_default=False)] = None,
    status: Annotated[_Status | None, typer.Option(help="How the run ended.", show_default=False)] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List decisions of all sealed runs, newest runs first; all conditions must hold."""
    with ask(ctx) as client:
        matches = client.search_decisions(
            kind=kind, tool=tool, arguments=_named(argument or ()), value=value, attribution=cast(Reason, attribution),
            source=source, suspect=suspect or None, result=result, after=after, agent=agent, status=status,
            since=parse_time_option(since), until=parse_time_option(until), limit=limit + 1,
        )  # fmt: skip
        rows = first_rows(ctx, "decisions", matches, limit)
        _note_what_was_not_searched(ctx, client, found_any=bool(rows))
    output.list_as(json, rows, _DECISION_COLUMNS)


@app.command("texts")
def texts(
    ctx: typer.Context,
    words: Annotated[str | None, typer.Argument(help='Words; "a phrase", or, -not.', show_default=False)] = None,
    ref: Annotated[str | None, typer.Option(help="Instead of words: who saw this content?", show_default=False)] = None,
    role: Annotated[
        Literal["system", "user", "assistant", "tool", "developer"] | None,
        typer.Option(help="Only messages of this role.", show_default=False),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List contents of all sealed runs with these words, and the runs that saw them."""
    with ask(ctx) as client:
        matches = client.search_content(
            words, ref=ref, role=role, since=parse_time_option(since), until=parse_time_option(until), limit=limit + 1
        )
        rows = first_rows(ctx, "texts", matches, limit)
        _note_what_was_not_searched(ctx, client, found_any=bool(rows))
    output.list_as(json, rows, _TEXT_COLUMNS)


def _named(arguments: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in arguments]
    wrong = next((text for text, pair in zip(arguments, pairs, strict=True) if not pair[1]), None)
    if wrong is not None:
        raise typer.BadParameter(f"{wrong!r}: write NAME=VALUE, as in order_id=W123", param_hint="--argument")
    return {name: value for name, _, value in pairs}


def _note_what_was_not_searched(ctx: typer.Context, client: "BlockingClient", *, found_any: bool) -> None:
    """Prints on standard error, after the answer, how many runs are not indexed yet or, if nothing was found, when runs
    are searched."""
    if number := client.unindexed_runs():
        text = f"{number:,} runs are not indexed yet, and were not searched"
    elif not found_any and not ctx.ensure_object(CollectorAddress).asks_journal:
        text = "nothing was found; runs are searched once they are sealed, PLAYHEAD_SEAL_AFTER_SECONDS after they ended"
    else:
        return
    ctx.call_on_close(lambda: typer.echo(text, err=True))


def _decided(row: FoundDecision) -> str:
    called = row["tool"] and f"{row['tool']}({', '.join(map(_value, row['values']))})"
    return output.shortened(called or f"{row['kind']}: {row['chosen'] or ''}".rstrip(": "))


def _value(value: FoundValue) -> str:
    return f"{value['path']}={value['value']}{' (!)' if value['suspect'] else ''}"


_DECISION_COLUMNS: output.Columns[FoundDecision] = (
    ("run", lambda row: row["run"]),
    ("seq", lambda row: row["seq"]),
    ("time", lambda row: row["time"][:19]),
    ("agent", lambda row: row["agent"]),
    ("decision", _decided),
    ("result", lambda row: row["result"]),
    ("after", lambda row: row["after"]),
    ("because", lambda row: row["attribution"]),
    ("status", lambda row: row["run_status"]),
)
_TEXT_COLUMNS: output.Columns[FoundText] = (
    ("ref", lambda row: row["ref"]),
    ("role", lambda row: row["role"]),
    ("time", lambda row: row["since"][:19]),
    ("quote", lambda row: " … ".join(entry["quote"] for entry in row["quotes"])),
    ("seen in", lambda row: ", ".join(f"{entry['run']} {entry['seq']}" for entry in row["seen"])),
)
