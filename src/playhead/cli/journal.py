"""`playhead journal`: contents of this machine's journal, and when they are deleted."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import Json
from playhead.errors import JournalUnusable
from playhead.export.expiry_forecast import LaneForecast, forecast
from playhead.settings.sdk import Settings, load

if TYPE_CHECKING:
    from playhead.local.source import JournalSource


def journal(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many processes, the newest.")] = 50,
    json: Json = False,
) -> None:
    """Say what the journal of this machine has: sessions, runs, events, bytes, the oldest record, damaged files; and of
    what each process recorded when it is deleted, or what keeps it.

    A process that records deletes its own old files, by whole files, as long as it lives."""
    settings = load()
    with ctx.ensure_object(CollectorAddress).ask_journal() as client:
        facts = _facts(client.source, settings.journal_dir)
    try:
        lanes = forecast(settings.journal_dir, settings)
    except OSError as error:
        raise JournalUnusable(f"the journal in {settings.journal_dir} cannot be read ({error.strerror})") from error
    total = sum(lane.bytes for lane in lanes)
    if json:
        output.as_json(
            {**facts, "bytes": total, "limit": settings.journal_max_bytes, "processes": list(map(_row, lanes))}
        )
        return
    output.facts(_shown(facts, lanes, total, settings))
    output.rows_of(_COLUMNS, lanes[: -limit - 1 : -1])
    if len(lanes) > limit:
        output.echo(f"there are {len(lanes) - limit:,} older processes: ask with a larger --limit", err=True)


def _facts(source: "JournalSource", folder: Path) -> dict[str, Any]:
    rows = [projection.row for run in source.records.runs() if (projection := source.projection(run)) is not None]
    began = min((row.started_ns for row in rows), default=None)
    return {
        "journal": str(folder),
        "sessions": len({row.session for row in rows if row.session is not None}),
        "runs": len(rows),
        "events": sum(row.events for row in rows),
        "oldest_record": None if began is None else _time(began / 1e9),
        "damaged": {str(path): size for path, size in source.records.damaged.items()},
    }


def _shown(facts: dict[str, Any], lanes: Sequence[LaneForecast], total: int, settings: Settings) -> dict[str, object]:
    damaged: dict[str, int] = facts["damaged"]
    living = sum(lane.is_living for lane in lanes)
    return {
        "journal": facts["journal"],
        "sessions": f"{facts['sessions']:,}",
        "runs": f"{facts['runs']:,}",
        "events": f"{facts['events']:,}",
        "bytes": f"{output.size(total)} of {output.size(settings.journal_max_bytes)}",
        "processes": f"{living} that record, {len(lanes) - living} that have ended",
        "oldest record": facts["oldest_record"],
        "damaged files": ", ".join(f"{path} ({size:,} bytes)" for path, size in damaged.items()) or "none",
    }


_COLUMNS: output.Columns[LaneForecast] = (
    ("recorded by", lambda lane: lane.path.name),
    ("bytes", lambda lane: output.size(lane.bytes)),
    ("runs", lambda lane: lane.runs),
    ("open", lambda lane: lane.open_runs),
    ("last record", lambda lane: _time(lane.last_record)),
    ("is deleted", lambda lane: f"not yet: {lane.kept_by}" if lane.expires is None else _time(lane.expires)),
)


def _row(lane: LaneForecast) -> dict[str, Any]:
    return {
        "lane": lane.path.name,
        "bytes": lane.bytes,
        "living": lane.is_living,
        "runs": lane.runs,
        "open_runs": lane.open_runs,
        "last_record": _time(lane.last_record),
        "not_delivered": list(lane.not_delivered),
        "expires": None if lane.expires is None else _time(lane.expires),
        "kept_by": lane.kept_by or None,
        "lost_bytes": sum(end.lost_bytes for end in lane.lost_ends),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
