"""serve → [store]: forgets runs and conversations, in steps, each a transaction.

    runs → scan → sessions → conversations → contents → done
    |---- with their contents noted in `gc_erasing` ----|  a sweep erases these (see `erasing.py`)

A request is a row, so that any collector can go on with it. Which runs are left follows from the runs that are there.
`scan`: a user may be named by a span that is not the run's first one, which no index knows, so every run's spans are
looked through. `sessions`: in those in which no other user has runs, runs without a user go, too.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from asyncpg import Record

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.span import LogEvent, Span
from playhead.wire.operations.conversations import GRAPH_THREAD_ID_PREFIX
from playhead_collector.store.packing.span_pages import unpack
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports.forgetting import ForgettingRow, Selection, Selector
from playhead_collector.store.ports.scorers import JUDGE_AGENT
from playhead_collector.store.postgres import changes, erasing, garbage, named_refs, packed_runs, search_blocks
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, Database, begin_exclusive_write
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import id_of, label
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.tombstones import digest_of

_LOCK_TIMEOUT_MS: Final = 2_000
_SCANNED_PER_STEP: Final = 5
# What is not projected yet has no session. Projection is behind for seconds; for an hour only if a run cannot be
# projected. For a user it is not waited for so long: all spans are looked through afterwards.
_PROJECTION_NS: Final = 3_600 * 1_000_000_000
_PROJECTION_FOR_SCAN_NS: Final = 60 * 1_000_000_000
_JUDGE: Final = label("agent", JUDGE_AGENT)
# Ids that a report lists; beyond, it counts.
_LISTED: Final = 1_000
_READ_FOR_DRY_RUN: Final = 50


class PostgresForgetting:
    """Implements `ports.forgetting.ForgettingStore`."""

    def __init__(
        self, db: Database, clock: Callable[[], int], packs: Packs, recipients: Sequence[Recipient] = ()
    ) -> None:
        """`recipients`: destinations to which runs are forwarded."""
        self._db = db
        self._clock = clock
        self._packs = packs
        self._recipients = recipients

    async def select(self, project_id: int, selector: Selector, limit: int) -> Selection:
        return await self._packs.supplied(lambda packs: self._select(packs, project_id, selector, limit))

    async def _select(self, packs: Packs, project_id: int, selector: Selector, limit: int) -> Selection:
        async with self._db.reading() as conn:
            runs = await _selected(conn, project_id, selector, limit)
            sessions = await _own_sessions(conn, project_id, selector, await _sessions_of(conn, project_id, runs))
            if sessions:
                found = await _in_sessions(conn, project_id, sessions, limit)
                runs = list(dict.fromkeys([*runs, *found]))[:limit]
            ids = _conversation_ids(selector, sessions)
            conversations = await sql.value(conn, "count_conversations", project_id=project_id, **ids)
            forks = await sql.column(conn, "forks_of_others", project_id=project_id, runs=runs)
            candidates = None
            if len(runs) <= _READ_FOR_DRY_RUN:
                candidates = len(await _named(conn, packs, project_id, runs))
        destinations = self._destinations(project_id, runs)
        return Selection([run.hex for run in runs], [run.hex for run in forks], conversations, destinations, candidates)

    async def begin(
        self, project_id: int, job: UUID, selector: Selector, *, forks: bool, requested_by: str | None, hold_ns: int
    ) -> None:
        text = {selector.by: selector.value}
        async with self._db.transaction() as conn:
            secret = await sql.value(conn, "secret", project_id=project_id)
            digest = digest_of(secret, canonical_json(text))
            await sql.run(
                conn, "begin_forgetting", project_id=project_id, job=job, now=self._clock(),
                selector=json.dumps(text), digest=digest, forks=forks, requested_by=requested_by, hold_ns=hold_ns,
            )  # fmt: skip

    async def step(self, project_id: int, job: UUID) -> bool:
        async def attempt(conn: Conn, packs: Packs) -> bool:
            row = await sql.row(conn, "lock_forgetting", project_id=project_id, job=job)
            return row is not None and await self._step(conn, packs, project_id, row)

        # Records of thinned runs may be in the object store: nobody waits for it in a transaction.
        return await self._packs.supplied(lambda packs: self._db.transact(partial(attempt, packs=packs)))

    async def jobs(self, project_id: int, job: UUID | None, limit: int) -> Sequence[ForgettingRow]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "forgettings", project_id=project_id, job=job, how_many=limit)
        return [_row(row) for row in rows]

    async def open_jobs(self) -> Sequence[tuple[int, UUID]]:
        async with self._db.reading() as conn:
            return [(row["project_id"], row["job"]) for row in await sql.rows(conn, "open_forgettings")]

    async def erasing_due(self) -> Sequence[int]:
        async with self._db.reading() as conn:
            return await sql.column(conn, "erasing_due", now=self._clock())

    # --- steps --------------------------------------------------------------------------------------------------------

    async def _step(self, conn: Conn, packs: Packs, project_id: int, row: Record) -> bool:
        selector = _selector(row)
        match row["phase"]:
            case "runs":
                return await self._forget_selected(conn, packs, project_id, row, selector)
            case "scan":
                return await self._forget_scanned(conn, packs, project_id, row, selector)
            case "sessions":
                return await self._forget_in_sessions(conn, packs, project_id, row, selector)
            case "conversations":
                return await self._forget_conversations(conn, project_id, row, selector)
            case _:
                if await sql.value(conn, "is_erasing", project_id=project_id, job=row["job"]):
                    return False
                await sql.run(conn, "erase_from_objects", project_id=project_id)
                await sql.run(conn, "end_forgetting", project_id=project_id, job=row["job"], now=self._clock())
                return False

    async def _forget_selected(
        self, conn: Conn, packs: Packs, project_id: int, row: Record, selector: Selector
    ) -> bool:
        report = _report(row)
        kept = set(map(UUID, report.get("kept_for_forks", ())))
        found = await _selected(conn, project_id, selector, 1 + len(kept))
        if left := [run for run in found if run not in kept]:
            await self._forget_run(conn, packs, project_id, row, report, left[0], selector)
            return True
        # That they are judges' is known of some only when they are projected.
        if judges := await _judges_of(conn, project_id, [UUID(run) for run in report.get("runs", ())]):
            await self._forget_run(conn, packs, project_id, row, report, judges[0], selector)
            return True
        is_scanned = selector.by == "user"
        most_ns = _PROJECTION_FOR_SCAN_NS if is_scanned else _PROJECTION_NS
        waits = self._clock() < row["requested_ns"] + most_ns
        if waits and await sql.value(conn, "unprojected_since", project_id=project_id, before=row["requested_ns"]):
            return False
        after = "scan" if is_scanned else "conversations"
        await self._move(conn, project_id, row, after, row["at_run"])
        return True

    async def _forget_scanned(self, conn: Conn, packs: Packs, project_id: int, row: Record, selector: Selector) -> bool:
        where = {"after": row["at_run"], "how_many": _SCANNED_PER_STEP}
        runs = await sql.column(conn, "runs_after", project_id=project_id, **where)
        if not runs:
            await self._move(conn, project_id, row, "sessions", row["at_run"])
            return True
        report = _report(row)
        kept = set(map(UUID, report.get("kept_for_forks", ())))
        for run in runs:
            if run not in kept and selector.value in await _users_in(conn, packs, project_id, run, selector):
                await self._forget_run(conn, packs, project_id, row, report, run, selector)
                await self._move(conn, project_id, row, "scan", run)
                return True
        await self._move(conn, project_id, row, "scan", runs[-1])
        return True

    async def _forget_in_sessions(
        self, conn: Conn, packs: Packs, project_id: int, row: Record, selector: Selector
    ) -> bool:
        report = _report(row)
        kept = set(map(UUID, report.get("kept_for_forks", ())))
        sessions = await _own_sessions(conn, project_id, selector, row["sessions"])
        found = await _in_sessions(conn, project_id, sessions, 1 + len(kept))
        if left := [run for run in found if run not in kept]:
            await self._forget_run(conn, packs, project_id, row, report, left[0], selector)
        else:
            await self._move(conn, project_id, row, "conversations", row["at_run"])
        return True

    async def _forget_conversations(self, conn: Conn, project_id: int, row: Record, selector: Selector) -> bool:
        sessions = await _own_sessions(conn, project_id, selector, row["sessions"])
        ids = _conversation_ids(selector, sessions)
        found = await sql.rows(conn, "selected_conversations", project_id=project_id, **ids)
        if not found:
            await self._move(conn, project_id, row, "contents", row["at_run"])
            return True
        refs: set[bytes] = set()
        for conversation in found:
            refs |= await _named_by_conversation(conn, conversation)
        named = await named_refs.with_all_below(conn, self._packs, project_id, refs)
        await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
        for conversation in found:
            where = {"scope": conversation["scope"], "conversation": conversation["conversation_id"]}
            await sql.value(conn, "delete_conversation", project_id=project_id, **where)
        await sql.run(conn, "sweep_later", project_id=project_id, now=self._clock())
        await self._note(conn, project_id, row, named, runs=0, conversations=len(found), report=_report(row))
        return True

    async def _forget_run(
        self,
        conn: Conn,
        packs: Packs,
        project_id: int,
        row: Record,
        report: dict[str, Any],
        run: UUID,
        selector: Selector,
    ) -> None:
        """Deletes a run with its forks, and with the runs in which judges were shown what they say; or notes that it
        stays because of its forks."""
        below = await garbage.forks_of(conn, project_id, run)
        if below and not row["forks"]:
            report.setdefault("kept_for_forks", []).append(run.hex)
            await self._note(conn, project_id, row, set(), runs=0, conversations=0, report=report)
            return
        runs = [run, *below]
        runs = list(dict.fromkeys([*runs, *await _judges_of(conn, project_id, runs)]))
        news = await _news(conn, project_id, runs)
        whose = await sql.rows(conn, "whose_runs", project_id=project_id, runs=runs)
        named = await _named(conn, packs, project_id, runs)
        others = selector.by == "user" and [
            r for r in runs if await _has_other_user(conn, packs, project_id, r, selector)
        ]
        await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
        stored = [found["run_id"] for found in await sql.rows(conn, "lock_runs", project_id=project_id, runs=runs)]
        if await _news(conn, project_id, runs) != news or {*stored} != {found["run_id"] for found in whose}:
            raise Collision("something arrived of a run that is being forgotten")
        await search_blocks.forget_runs(conn, project_id, stored)
        dropped = await sql.column(conn, "drop_outbox_of", project_id=project_id, runs=stored)
        await sql.run(conn, "delete_runs", project_id=project_id, runs=stored, now=self._clock())
        await sql.run(conn, "tombstones_erased", project_id=project_id, runs=stored)
        await changes.notify(conn, project_id, stored)
        _list(report, "runs", stored)
        _list(report, "of_several_users", others or ())
        _count(report, "forwarded", self._destinations(project_id, stored))
        _count(report, "not_forwarded", Counter(dropped))
        sessions = [found["session"] for found in whose if found["session"] is not None]
        await self._note(
            conn, project_id, row, named, runs=len(stored), conversations=0, report=report, sessions=sessions
        )

    async def _note(
        self,
        conn: Conn,
        project_id: int,
        row: Record,
        named: set[bytes],
        *,
        runs: int,
        conversations: int,
        report: Mapping[str, Any],
        sessions: Sequence[str] = (),
    ) -> None:
        job = row["job"]
        if named:
            # Senders forget then what they believe to be stored.
            await sql.run(conn, "new_epoch", project_id=project_id)
            await erasing.add(conn, self._packs, project_id, named, self._clock(), row["hold_ns"], job)
            await sql.run(conn, "count_candidates", project_id=project_id, job=job)
        await sql.run(
            conn, "add_forgotten", project_id=project_id, job=job, runs=runs, conversations=conversations,
            sessions=list(sessions), report=json.dumps(report),
        )  # fmt: skip

    async def _move(self, conn: Conn, project_id: int, row: Record, phase: str, at_run: UUID) -> None:
        await sql.run(conn, "move_forgetting", project_id=project_id, job=row["job"], phase=phase, at_run=at_run)

    def _destinations(self, project_id: int, runs: Iterable[UUID]) -> dict[str, int]:
        served = [recipient for recipient in self._recipients if recipient.serves(project_id)]
        counts = Counter(recipient.name for recipient in served for run in runs if recipient.takes(run.hex))
        return dict(counts)


# --- what a selector finds -------------------------------------------------------------------------------------------


async def _selected(conn: Conn, project_id: int, selector: Selector, limit: int) -> list[UUID]:
    run, labels = None, list[str]()
    match selector.by:
        case "run":
            run = id_of(selector.value)
        case "scope":
            labels = await _sessions_of_scope(conn, project_id, selector.value)
        case by:
            labels = [label(by, selector.value)]
    return await sql.column(conn, "selected_runs", project_id=project_id, run=run, labels=labels, how_many=limit)


async def _named(conn: Conn, packs: Packs, project_id: int, runs: Sequence[UUID]) -> set[bytes]:
    """Returns all that these runs name, also what thinned ones do not keep: it waits for a sweep."""
    refs = set(await sql.column(conn, "histories_of", project_id=project_id, runs=runs))
    for run in runs:
        refs |= await named_refs.in_run(conn, project_id, run)
        refs |= await packed_runs.refs_named(conn, packs, project_id, run)
    return await named_refs.with_all_below(conn, packs, project_id, refs)


async def _judges_of(conn: Conn, project_id: int, runs: Sequence[UUID]) -> list[UUID]:
    """Returns the runs in which a judge was shown one of these."""
    linked = [label("linked", run.hex) for run in runs]
    return await sql.column(conn, "judges_of", project_id=project_id, labels=linked, judge=_JUDGE)


async def _sessions_of_scope(conn: Conn, project_id: int, scope: str) -> list[str]:
    """Labels of the sessions that are conversations of this scope and of no other one."""
    rows = await sql.rows(conn, "conversations_of_scope", project_id=project_id, scope=scope)
    return [label("session", row["conversation_id"].removeprefix(GRAPH_THREAD_ID_PREFIX)) for row in rows]


async def _sessions_of(conn: Conn, project_id: int, runs: Sequence[UUID]) -> list[str]:
    rows = await sql.rows(conn, "whose_runs", project_id=project_id, runs=runs)
    return list(dict.fromkeys(row["session"] for row in rows if row["session"] is not None))


async def _own_sessions(conn: Conn, project_id: int, selector: Selector, sessions: Sequence[str]) -> list[str]:
    """Returns those of these sessions in which no other user has runs. Empty unless a user is selected."""
    if selector.by != "user":
        return []
    return [
        each
        for each in sessions
        if not await sql.value(
            conn,
            "has_other_user",
            project_id=project_id,
            session=label("session", each),
            user=label("user", selector.value),
        )
    ]


async def _in_sessions(conn: Conn, project_id: int, sessions: Sequence[str], limit: int) -> list[UUID]:
    labels = [label("session", session) for session in sessions]
    return await sql.column(conn, "selected_runs", project_id=project_id, run=None, labels=labels, how_many=limit)


def _conversation_ids(selector: Selector, own_sessions: Sequence[str]) -> dict[str, Any]:
    """Parameters for the conversations of a selector: those of a scope; of a session; of a user, those of the scope
    with the user's name, and of the sessions in which nobody else has runs."""
    match selector.by:
        case "scope":
            return {"scope": selector.value, "ids": None}
        case "session":
            return {"scope": None, "ids": _ids_of([selector.value])}
        case "user":
            return {"scope": selector.value, "ids": _ids_of(own_sessions)}
        case "run":
            return {"scope": None, "ids": None}


def _ids_of(sessions: Iterable[str]) -> list[str]:
    return [each for session in sessions for each in (session, GRAPH_THREAD_ID_PREFIX + session)]


async def _named_by_conversation(conn: Conn, conversation: Record) -> set[bytes]:
    if conversation["log"] is None:
        return set() if conversation["head"] is None else {conversation["head"]}
    rows = await sql.column(conn, "record_refs", log=conversation["log"])
    return {digest for refs in rows for digest in named_refs.in_bytes(refs)}


# --- users that spans name -------------------------------------------------------------------------------------------


async def _users_in(conn: Conn, packs: Packs, project_id: int, run: UUID, selector: Selector) -> set[str]:
    """Returns the users that spans and log events of a run name, if the wanted one may be among them."""
    wanted = canonical_json(selector.value)
    bodies = await _span_bodies(conn, packs, project_id, run)
    return {user for body in bodies if wanted in decompress_json(body) for user in _users(body)}


async def _has_other_user(conn: Conn, packs: Packs, project_id: int, run: UUID, selector: Selector) -> bool:
    bodies = await _span_bodies(conn, packs, project_id, run)
    return any(_users(body) - {selector.value} for body in bodies)


async def _span_bodies(conn: Conn, packs: Packs, project_id: int, run: UUID) -> list[bytes]:
    """Returns the pages of spans of a run, also of a thinned one. Raises BodiesNeeded."""
    rows = await sql.rows(conn, "span_bodies", project_id=project_id, run=run)
    return [row["body"] for row in rows] + await packed_runs.pages_of_spans(conn, packs, project_id, run)


def _users(body: bytes) -> set[str]:
    page = unpack(0, body)
    items: list[Span | LogEvent] = [*page.spans, *page.logs]
    found = (item.attributes.get(names.USER) or item.resource.get(names.USER) for item in items)
    return {str(user) for user in found if user is not None}


# --- rows ------------------------------------------------------------------------------------------------------------


async def _news(conn: Conn, project_id: int, runs: Sequence[UUID]) -> list[tuple[UUID, int]]:
    rows = await sql.rows(conn, "news_of_runs", project_id=project_id, runs=runs)
    return [(row["run_id"], row["news"]) for row in rows]


def _selector(row: Record) -> Selector:
    [(by, value)] = json.loads(row["selector"]).items()
    return Selector(by, value)


def _report(row: Record) -> dict[str, Any]:
    return json.loads(row["report"])


def _list(report: dict[str, Any], name: str, runs: Iterable[UUID]) -> None:
    listed = report.setdefault(name, [])
    listed += [run.hex for run in runs][: max(0, _LISTED - len(listed))]


def _count(report: dict[str, Any], name: str, counts: Mapping[str, int]) -> None:
    before: dict[str, int] = report.get(name, {})
    report[name] = dict(Counter(before) + Counter(counts))


def _row(row: Record) -> ForgettingRow:
    return ForgettingRow(
        job=row["job"],
        phase=row["phase"],
        requested_ns=row["requested_ns"],
        completed_ns=row["completed_ns"],
        held_until_ns=row["held_until_ns"],
        runs=row["runs"],
        conversations=row["conversations"],
        candidates=row["candidates"],
        contents=row["contents"],
        of_others=row["of_others"],
        requested_by=row["requested_by"],
        report=_report(row),
    )
