"""Commands for whole runs: list them, and show one."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, ask
from playhead.cli.options import (
    Json,
    Limit,
    OfAgent,
    OfModel,
    OfSession,
    OfStatus,
    OfTag,
    OfTool,
    OfUser,
    Run,
    first_rows,
    parse_time_option,
)
from playhead.cli.scores import shown_number, shown_value
from playhead.errors import NotFound, PlayheadError, SettingInvalid
from playhead.wire.operations import RunDetail, RunProcess, RunSummary
from playhead.wire.operations.runs import SortName
from playhead.wire.operations.verdict import OutcomeWord
from playhead.wire.operations.why import Strength

if TYPE_CHECKING:
    from rich.text import Text

_COMPLETE = "complete"
_NO_END = "no end recorded"
_WORDS: tuple[OutcomeWord, ...] = get_args(OutcomeWord)


def runs(
    ctx: typer.Context,
    agent: OfAgent = None,
    status: OfStatus = None,
    session: OfSession = None,
    user: OfUser = None,
    tag: OfTag = None,
    model: OfModel = None,
    tool: OfTool = None,
    errors: Annotated[
        bool | None,
        typer.Option(
            "--errors/--no-errors", help="Only runs in which something failed, or nothing did.", show_default=False
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="With spans of this trace, by its id (32 hex digits).", show_default=False)
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="In name, session, user, agents or tags.", show_default=False)
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Begun at or after: 1h (ago), 2d, 2026-01-31T12:00.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option(help="Begun at or before.", show_default=False)] = None,
    score: Annotated[
        str | None, typer.Option(help="Score: resolved, resolved=true, 'quality>=0.5'.", show_default=False)
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help=f"Only runs with this outcome; may be repeated: {', '.join(_WORDS)}.", show_default=False),
    ] = None,
    suspect: Annotated[
        Strength | None,
        typer.Option(help="Only failed runs whose first suspect is at least so strong.", show_default=False),
    ] = None,
    cost_above: Annotated[
        float | None, typer.Option(min=0, help="Only runs that cost more.", show_default=False)
    ] = None,
    sort: Annotated[
        SortName, typer.Option(help="The greatest first; attention: what waits, crashed, is lost or failed.")
    ] = "started",
    ascending: Annotated[bool, typer.Option("--ascending", help="The least first.")] = False,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List runs, newest first or sorted by something else; all conditions must hold.

    On a terminal a run is named by the end of its id, which every command takes; calls are model calls + tool calls.
    """
    with ask(ctx) as client:
        listing = client.runs(
            agent=agent,
            status=status,
            session=session,
            user=user,
            tag=tag,
            model=model,
            tool=tool,
            errors=errors,
            trace=trace,
            text=text,
            since=parse_time_option(since),
            until=parse_time_option(until),
            score=score,
            outcomes=_words(outcome or ()),
            suspect=suspect,
            cost_above=cost_above,
            sort=sort,
            ascending=ascending,
            limit=limit + 1,
        )
        rows = first_rows(ctx, "runs", listing, limit)
    if json or not output.is_terminal():
        output.list_as(json, rows, _COLUMNS)
    else:
        names = output.short_ids([row["run"] for row in rows])
        output.rows_of(_COLUMNS_FOR_PEOPLE, zip(names, rows, strict=True))


def show(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Say what a run was: status, error, metadata, usage, cost, forks, how complete its record is.

    A run that the collector does not have is looked for in the journal of this machine: its program may have crashed
    before it could deliver it.
    """
    try:
        with ask(ctx) as client:
            answer = client.run(run)
        delivered = True
    except NotFound:
        found = _undelivered(ctx.ensure_object(CollectorAddress), run)
        if found is None:
            raise
        answer, delivered = found, False
    shown: Any = answer if delivered else {**answer, "delivered": False}
    output.answer_as(json, shown, lambda run: output.facts(_facts(run)))


def _undelivered(address: CollectorAddress, run: str) -> RunDetail | None:
    """The run from the journal of this machine; None if it is not there, or the journal cannot be read."""
    if address.asks_journal:
        return None
    try:
        with address.ask_journal() as journal:
            return journal.run(run)
    except PlayheadError:
        return None


def _facts(answer: RunDetail) -> dict[str, Any]:
    facts: dict[str, Any] = {**answer, "took": output.seconds(answer["elapsed_ms"])}
    if not facts.get("delivered", True):
        facts["delivered"] = "not delivered: only the journal of this machine has it (other commands: --local)"
    error = answer["error"]
    facts["error"] = f"{error['type']}: {error['message']}" if error else None
    facts["cost"] = output.cost(answer["cost"])
    # A fork that was made at a function's name has no seq of its parent.
    places = [f", at {fork['at']}" if fork["at"] is not None else "" for fork in answer["forks"]]
    facts["forks"] = [
        f"{fork['run']} ({fork['status']}{place})" for fork, place in zip(answer["forks"], places, strict=True)
    ]
    facts["scores"] = [
        f"{score['name']} {shown_value(score)}" + (f", call {score['span']}" if score["span"] else "")
        for score in answer["scores"]
    ]
    facts["processes"] = [_process(process) for process in answer["processes"]]
    facts["record"] = _record(answer)
    facts["outcome"] = f"{_outcome(answer)} (by {answer['outcome']['because']})"
    facts["happened"] = _happened(answer)
    for name in ("scored", "elapsed_ms", "completeness", "links", "fork_count", "more_forks", "process_count"):
        del facts[name]
    return facts


def _process(process: RunProcess) -> str:
    gaps = f", {process['spans_missing']} missing" if process["spans_missing"] else ""
    return f"{process['process']}: {process['spans']} spans{gaps}" + (", open" if process["ended"] is None else "")


def _words(texts: Sequence[str]) -> list[OutcomeWord]:
    """Returns the outcomes of these names. Raises SettingInvalid for another one."""
    for text in texts:
        if text not in _WORDS:
            raise SettingInvalid(f"{text[:60]!r} is no outcome of runs: write one of {', '.join(_WORDS)}")
    return [word for word in _WORDS if word in texts]


def _outcome(row: RunSummary) -> str:
    """Returns what came of a run; of one that nobody scored its status, and of a scored one also the score."""
    word, value = row["outcome"]["word"], row["outcome"]["value"]
    if word == "unknown":
        return row["status"]
    return word if value is None or isinstance(value, bool) else f"{word} {shown_number(value)}"


def _happened(row: RunSummary) -> str | None:
    happened = row["happened"]
    if happened is None:
        return None
    about = f"{happened['about']}: " if happened["about"] and happened["kind"] in ("error", "question") else ""
    return f"{happened['kind'].replace('_', ' ')}: {about}{happened['text']}"


def _calls(row: RunSummary) -> str:
    return f"{row['llm_calls']}+{row['tool_calls']}"


def _tokens(row: RunSummary) -> int:
    return row["input_tokens"] + row["output_tokens"]


def _took(row: RunSummary) -> str | None:
    return output.seconds(row["elapsed_ms"])


def _short_time(row: RunSummary) -> str:
    """Returns when a run began; with its day only if that is not today."""
    began = _local(row["started"])
    is_today = began.date() == datetime.now().astimezone().date()
    return began.strftime("%H:%M:%S" if is_today else "%m-%d %H:%M")


def _name_and_details(row: RunSummary) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - only for a terminal

    details = [f"{name} {row[name]}" for name in ("session", "user") if row[name]]
    details += [f"fork of {row['fork_of'][-8:]}"] if row["fork_of"] else []
    details += [output.shortened(happened)] if (happened := _happened(row)) else []
    record = _record(row)
    lines = [Text(output.visible(row["name"] or ""))] + [Text(output.visible(line), style="dim") for line in details]
    return Text("\n").join([*lines, *([Text(record, style="red")] if record != _COMPLETE else [])])


def _local(time: str) -> datetime:
    return datetime.fromisoformat(time).astimezone()


def _record(row: RunSummary) -> str:
    """Returns what the record lacks, or `complete`."""
    complete = row["completeness"]
    holes = {"spans missing": complete["spans_missing"], "contents pending": complete["content_pending"]}
    parts = [f"{count} {name}" for name, count in holes.items() if count]
    if complete["parent_missing"]:
        parts.append("parent missing")
    if row["status"] == "lost":
        parts.append(_NO_END)
    return ", ".join(parts) or _COMPLETE


_COLUMNS: output.Columns[RunSummary] = (
    ("run", lambda row: row["run"]),
    ("status", lambda row: row["status"]),
    ("started", lambda row: _local(row["started"]).strftime("%Y-%m-%d %H:%M:%S")),
    ("took", _took),
    ("name", lambda row: row["name"]),
    ("events", lambda row: row["events"]),
    ("model calls", lambda row: row["llm_calls"]),
    ("tool calls", lambda row: row["tool_calls"]),
    ("tokens", _tokens),
    ("cost", lambda row: output.cost(row["cost"])),
    ("session", lambda row: row["session"]),
    ("user", lambda row: row["user"]),
    ("forks", lambda row: row["fork_count"] or None),
    ("record", _record),
    ("outcome", lambda row: row["outcome"]["word"]),
    ("happened", _happened),
)
# For 80 columns: calls in one column, other values below the name. Rows are pairs of a short id and a run.
_COLUMNS_FOR_PEOPLE: output.Columns[tuple[str, RunSummary]] = (
    ("run", lambda pair: pair[0]),
    ("outcome", lambda pair: _outcome(pair[1])),
    ("started", lambda pair: _short_time(pair[1])),
    ("took", lambda pair: _took(pair[1])),
    ("calls", lambda pair: _calls(pair[1])),
    ("tokens", lambda pair: _tokens(pair[1])),
    ("cost", lambda pair: output.cost(pair[1]["cost"])),
    ("forks", lambda pair: pair[1]["fork_count"] or None),
    ("what", lambda pair: _name_and_details(pair[1])),
)
