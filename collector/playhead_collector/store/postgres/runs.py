"""projection → [store] → read: writes and reads the summaries of runs, lists runs by filters, and reads facts about
many runs at once."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from uuid import UUID

import orjson
from asyncpg import Record

from playhead.model.usage import ModelUsage
from playhead.projection.happened import LastMoment, one_line
from playhead.projection.run_row import FirstSuspect, HandedProcess, OutcomeFacts, RunRow
from playhead.projection.search_rows import ToolOutcome
from playhead_collector.store.ports.outcomes import LEVELS, STEPS_S, OverviewCell
from playhead_collector.store.ports.runs import (
    NEWEST_FIRST,
    LastError,
    OpenQuestion,
    RunFacts,
    RunFilter,
    RunOrder,
    RunPosition,
    ToolSteps,
)
from playhead_collector.store.ports.scores import ScoreCondition
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn

INT, BIGINT = 2**31 - 1, 2**63 - 1
# Looking through so many rows takes a few milliseconds.
_LOOKED = 1_000
# Limit of the text in which lists are searched. It is in an index, whose rows have at most 2,704 bytes.
_SEARCH_BYTES = 2_000
LAST_RUN = UUID(int=2**128 - 1)
"""The greatest id: no run comes after it."""
_NO_RUN = UUID(int=0)
# Fields that are stored only in the column `labels`, and their label names.
_MANY = {"tags": "tag", "agents": "agent", "models": "model", "tools": "tool", "traces": "trace", "linked": "linked"}
# Those that are names which people gave.
_SAYING = ("tags", "agents", "models", "tools")
_ONE = ("status", "session", "user", "fork_of")
_WITH_ERROR = {True: "with_error:true", False: "with_error:false"}
"""The label that says whether something in a run has failed."""
# Fields that the store computes when the row is read.
_THE_STORES = ("parent_missing", "forks", "lost_ns", "tier", "thinned_ns", "thinned_rule", "pinned")
_OWN_FORM = ("run", "usage", "continued_by", "processes", "happened", "facts")
_FIELDS = tuple(field.name for field in fields(RunRow) if field.name not in (*_OWN_FORM, *_THE_STORES, *_MANY))
_BIG = {"started_ns", "ended_ns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"}
_OUTCOMES = {outcome.value: outcome for outcome in ToolOutcome}
_BY_ATTENTION = RunOrder("attention")
_MOST_ATTENTION = 100
_CELL = tuple(field.name for field in fields(OverviewCell) if field.name != "word")


def without_nul(text: str) -> str:
    """Replaces NUL and lone surrogates in the text, which Postgres refuses. Spans and events keep the original."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def clamp_int(number: int, largest: int) -> int:
    """Limits the number to the column's range, since a number of a span may have any value."""
    return max(-largest, min(number, largest))


def id_of(run: str) -> UUID:
    """Returns the UUID of a run. For a text that is not an id, returns a UUID that no run has."""
    try:
        return UUID(run)
    except ValueError:
        return _NO_RUN


def label(name: str, value: str) -> str:
    """Joins a field's name and value to one text. All labels of a run are in one array column, which needs only one
    index."""
    return f"{name}:{without_nul(value)}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's summary, the number of the projection that made it, and whether the run is settled."""

    row: RunRow
    projection: int
    settled: bool = False


async def write(conn: Conn, project_id: int, summaries: Iterable[Summary]) -> None:
    """Writes the summaries of runs that have a row."""
    rows = [_json_of(summary) for summary in summaries]
    await sql.run(conn, "write_runs", project_id=project_id, rows=orjson.dumps(rows).decode())


def _json_of(summary: Summary) -> dict[str, Any]:
    row = summary.row
    values = {name: _storable(name, getattr(row, name)) for name in _FIELDS}
    values |= {"run_id": row.run, "shared_run": None if row.shared is None else id_of(row.fork_of or "")}
    values |= {"labels": _labels(row), "search": _search(row), "usage": _usage_json(row)}
    values |= {"continued_by": list(map(without_nul, row.continued_by))}
    processes = [{name: _storable(name, value) for name, value in asdict(process).items()} for process in row.processes]
    values |= {"processes": processes or None}
    values |= {"projection": summary.projection, "settled": summary.settled, "happened": _moment_values(row.happened)}
    return {name: value for name, value in values.items() if value is not None}


class PostgresRuns:
    """Implements `ports.runs.RunReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, project_id: int, run: str) -> RunRow | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "runs", project_id=project_id, runs=[id_of(run)])
        return None if row is None else _with_facts(row)

    async def page(
        self,
        project_id: int,
        where: RunFilter,
        *,
        limit: int,
        before: RunPosition | None = None,
        order: RunOrder = NEWEST_FIRST,
    ) -> Sequence[RunRow]:
        bounds = conditions_of(where) | {
            "before_started": BIGINT if before is None else before.started_ns,
            "before_run": LAST_RUN if before is None else id_of(before.run),
            "how_many": limit,
        }
        async with self._db.reading() as conn:
            if order == NEWEST_FIRST and not where.needs_outcome:
                ids = await _ids(conn, project_id, bounds, where.score)
            else:
                ids = await _sorted_ids(conn, project_id, where, bounds, order, before)
            rows: Sequence[Record] = ()
            if ids:
                rows = await sql.rows(conn, "runs", project_id=project_id, runs=ids)
        by_id = {row["run_id"]: row for row in rows}
        return [_with_facts(by_id[run]) for run in ids if run in by_id]

    async def overview(self, project_id: int, where: RunFilter, steps: int) -> Sequence[OverviewCell]:
        bounds = conditions_of(where)
        chosen = bounds | _outcome_conditions(where, bounds)
        widths = [step_s * 10**9 for step_s in STEPS_S]
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "overview", project_id=project_id, steps=steps, steps_ns=widths, **chosen)
        return [OverviewCell(word=row["outcome"], **{name: row[name] for name in _CELL}) for row in rows]

    async def questions(self, project_id: int, runs: Sequence[str]) -> Mapping[str, OpenQuestion]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "open_questions", project_id=project_id, runs=[id_of(run) for run in runs])
        return {row["run_id"].hex: _question(row) for row in rows}

    async def facts(self, project_id: int, where: RunFilter, score: str | None, *, limit: int) -> Sequence[RunFacts]:
        name = None if score is None else without_nul(score)
        parameters = {"score_name": name, "how_many": limit, **conditions_of(where)}
        async with self._db.reading() as conn:
            return _facts(await sql.rows(conn, "run_facts", project_id=project_id, **parameters))

    async def facts_of(self, project_id: int, runs: Sequence[str], score: str | None) -> Sequence[RunFacts]:
        parameters = {"runs": list(map(id_of, runs)), "score_name": None if score is None else without_nul(score)}
        async with self._db.reading() as conn:
            return _facts(await sql.rows(conn, "facts_of_runs", project_id=project_id, **parameters))

    async def tool_steps(self, project_id: int, runs: Sequence[str]) -> Sequence[ToolSteps]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "tool_steps", project_id=project_id, runs=[id_of(run) for run in runs])
        return [
            ToolSteps(row["run_id"].hex, row["tools"], [_OUTCOMES[outcome] for outcome in row["outcomes"]], row["seqs"])
            for row in rows
        ]

    async def last_errors(self, project_id: int, runs: Sequence[str]) -> Sequence[LastError]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "last_errors", project_id=project_id, runs=[id_of(run) for run in runs])
        return [LastError(row["run_id"].hex, row["seq"], row["error_type"], row["about"]) for row in rows]


async def _ids(conn: Conn, project_id: int, bounds: dict[str, Any], score: ScoreCondition | None) -> list[UUID]:
    """Returns the ids of the runs of a page. Looks through the newest runs first; if too few of them match, looks up
    all runs with the labels."""
    if score is not None:
        return await sql.column(conn, "run_ids_scored", project_id=project_id, **bounds, **_score_bounds(score))
    if not bounds["labels"]:
        return await sql.column(conn, "run_ids", project_id=project_id, **bounds)
    ids = await sql.column(conn, "newest_run_ids", project_id=project_id, looked=_LOOKED, **bounds)
    if len(ids) == bounds["how_many"]:
        return ids
    return await sql.column(conn, "run_ids_with", project_id=project_id, **bounds)


async def _sorted_ids(
    conn: Conn, project_id: int, where: RunFilter, bounds: dict[str, Any], order: RunOrder, before: RunPosition | None
) -> list[UUID]:
    """Returns the ids of the runs of a page that is sorted, or limited, by what came of the runs."""
    key = math.inf if before is None else before.key
    conditions = _outcome_conditions(where, bounds)
    is_plain = conditions["any_run"] and where.score is None and where.suspect is None and where.cost_above is None
    if order == _BY_ATTENTION and is_plain:
        named = ("since", "until", "before_started", "before_run", "how_many")
        chosen = {name: bounds[name] for name in named}
        return await sql.column(
            conn,
            "run_ids_by_attention",
            project_id=project_id,
            outcomes=conditions["outcomes"],
            before_key=int(max(0, min(key, _MOST_ATTENTION))),
            **chosen,
        )
    sorting = {"sort": order.sort, "sign": -1.0 if order.ascending else 1.0, "before_key": key}
    return await sql.column(conn, "sorted_run_ids", project_id=project_id, **sorting, **bounds, **conditions)


def _question(row: Record) -> OpenQuestion:
    body: dict[str, Any] = json.loads(row["body"])  # a text column, which may have NUL
    about = body["name"]
    return OpenQuestion(row["promise_id"], one_line(str(body["action"] or about or body["key"])), about)


def _facts(rows: Iterable[Record]) -> list[RunFacts]:
    return [RunFacts(_row(row), row["score_number"], row["score_label"], row["searched"]) for row in rows]


def conditions_of(where: RunFilter) -> dict[str, Any]:
    """Returns the parameters for conditions on the run's own row."""
    wanted = {name: getattr(where, name) for name in (*_ONE, *_MANY.values())}
    labels = [label(name, value) for name, value in wanted.items() if value is not None]
    return {
        "labels": labels if where.with_error is None else [*labels, _WITH_ERROR[where.with_error]],
        "search": without_nul(where.text or "").lower(),
        "id_part": where.id_part or "",
        "since": -BIGINT if where.since_ns is None else clamp_int(where.since_ns, BIGINT),
        "until": BIGINT if where.until_ns is None else clamp_int(where.until_ns, BIGINT),
    }


def _outcome_conditions(where: RunFilter, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters for conditions on what came of a run, and on its scores. `bounds`: see `conditions_of`."""
    no_score = {"score_name": None, "score_low": None, "score_high": None, "score_label": None}
    return {
        "outcomes": list(where.outcomes),
        "suspect": 0 if where.suspect is None else LEVELS[where.suspect],
        "cost_above": where.cost_above,
        "any_run": not (bounds["labels"] or bounds["search"] or bounds["id_part"]),
        **(no_score if where.score is None else _score_bounds(where.score)),
    }


def _score_bounds(condition: ScoreCondition) -> dict[str, Any]:
    """Returns the parameters for a condition on a score: its number has to be from `score_low` to `score_high`, or its
    label `score_label`."""
    bounds: dict[str, Any] = {"score_name": without_nul(condition.name), "score_low": None, "score_high": None}
    bounds["score_label"], value = None, condition.value
    if isinstance(value, str):
        bounds["score_label"] = without_nul(value)
    elif value is not None:
        match condition.comparison:
            case ">=":
                bounds["score_low"] = value
            case "<=":
                bounds["score_high"] = value
            case ">":
                bounds["score_low"] = math.nextafter(value, math.inf)
            case "<":
                bounds["score_high"] = math.nextafter(value, -math.inf)
            case _:
                bounds["score_low"] = bounds["score_high"] = value
    return bounds


def _storable(name: str, value: object) -> Any:
    if isinstance(value, str):
        return without_nul(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return clamp_int(value, BIGINT if name in _BIG else INT)
    return value


def _labels(row: RunRow) -> list[str]:
    labels = [label(name, value) for name in _ONE if (value := getattr(row, name)) is not None]
    labels.append(_WITH_ERROR[row.errors > 0])
    return labels + [label(label_name, value) for many, label_name in _MANY.items() for value in getattr(row, many)]


def _search(row: RunRow) -> str:
    texts = (row.name, row.session, row.user, *row.agents, *row.tags)
    text = without_nul("\n".join(text.lower() for text in texts if text))
    return text.encode()[:_SEARCH_BYTES].decode("utf-8", "ignore")


def columns_to_mask(row: Record) -> dict[str, Any]:
    """Returns the columns of a run (with what came of it) that say something, as `mask_run` takes them."""
    return _columns_of(_row(row), row["suspect"])


def masked_columns(row: Record, masked: Callable[[str], str]) -> dict[str, Any] | None:
    """Returns the same with masked texts; None: nothing is masked. `masked` masks a text."""
    run = _row(row)

    def text(value: str | None) -> str | None:
        return None if value is None else masked(value)

    many = {name: tuple(map(masked, getattr(run, name))) for name in _SAYING}
    happened = run.happened
    if happened is not None:
        happened = replace(happened, text=text(happened.text), about=text(happened.about))
    left = replace(run, name=text(run.name), session=text(run.session), user=text(run.user), happened=happened, **many)
    suspect = None if row["suspect"] is None else FirstSuspect(**orjson.loads(row["suspect"]))
    if suspect is not None:
        suspect = replace(suspect, reason=masked(suspect.reason))
    said = None if suspect is None else orjson.dumps(asdict(suspect)).decode()
    is_same_suspect = said is None or orjson.loads(said) == orjson.loads(row["suspect"])
    if left == run and is_same_suspect:
        return None
    return _columns_of(left, row["suspect"] if is_same_suspect else said)


def _columns_of(run: RunRow, suspect: str | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "session": run.session,
        "user": run.user,
        "labels": _labels(run),
        "search": _search(run),
        "happened": moment_json(run.happened),
        "suspect": suspect,
    }


def _row(row: Record) -> RunRow:
    values = {name: row[name] for name in _FIELDS}
    for many, label_name in _MANY.items():
        start = label(label_name, "")
        values[many] = tuple(item[len(start) :] for item in row["labels"] if item.startswith(start))
    values |= {name: row[name] for name in _THE_STORES}
    continued_by = tuple(row["continued_by"] or ())
    processes = tuple(HandedProcess(**item) for item in orjson.loads(row["processes"] or b"[]"))
    own_form: dict[str, Any] = {"usage": usage_of(row["usage"]), "continued_by": continued_by, "processes": processes}
    own_form["happened"] = moment_of(row["happened"])
    return RunRow(run=row["run_id"].hex, **own_form, **values)


def _with_facts(row: Record) -> RunRow:
    """Returns a run with what came of it; `row` also has the columns of `run_outcome`, null if it is not projected."""
    score = row["score"]
    facts = OutcomeFacts(
        score_name=row["score_name"],
        score=score if score is None or not row["score_is_boolean"] else score != 0,
        waiting=row["waiting"],
        suspect=None if row["suspect"] is None else FirstSuspect(**orjson.loads(row["suspect"])),
        cost=row["cost"],
        price_table=row["priced"],
    )
    return replace(_row(row), facts=facts)


def _moment_values(moment: LastMoment | None) -> dict[str, Any] | None:
    if moment is None:
        return None
    return {name: _storable(name, value) for name, value in asdict(moment).items() if value is not None}


def moment_json(moment: LastMoment | None) -> str | None:
    """Returns what happened in a run, as in the column `happened`."""
    return None if moment is None else orjson.dumps(_moment_values(moment)).decode()


def moment_of(text: str | None) -> LastMoment | None:
    """Reads the column `happened`."""
    return None if text is None else LastMoment(**orjson.loads(text))


def _usage_json(row: RunRow) -> list[dict[str, Any]]:
    """Returns usage by model, without fields that are zero or unknown: most calls use no cache."""
    return [{name: _storable(name, value) for name, value in asdict(line).items() if value} for line in row.usage]


def usage_of(text: str | None) -> tuple[ModelUsage, ...]:
    """Reads the column `usage`."""
    nothing: dict[str, Any] = {"model": None, "asked": None, "input_tokens": 0, "output_tokens": 0}
    return tuple(ModelUsage(**{**nothing, **line}) for line in orjson.loads(text or b"[]"))
