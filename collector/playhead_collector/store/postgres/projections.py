"""[store] → projection, retain: which runs have to be projected, sealed and packed, and the work on them."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from playhead_collector.store.ports.projections import (
    NO_CACHED_RUNS,
    CachedRun,
    RunWork,
    UnpackedRun,
    UnprojectedRun,
)
from playhead_collector.store.postgres import changes, descriptions, outcomes, projecting, sealing
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.ingest import StoreMemory, date_of
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.uses import pack_and_index


class PostgresProjections:
    """Implements `ports.projections.ProjectionStore`."""

    def __init__(self, db: Database, clock: Callable[[], int], memory: StoreMemory) -> None:
        self._db = db
        self._clock = clock
        self._memory = memory

    @asynccontextmanager
    async def locked_runs(
        self,
        project_id: int,
        runs: Sequence[str],
        *,
        wait: bool = True,
        cached: Mapping[str, CachedRun] = NO_CACHED_RUNS,
    ) -> AsyncGenerator[Sequence[RunWork]]:
        ids, now = [id_of(run) for run in runs], self._clock()
        async with projecting.locked_runs(
            self._db, self._memory, project_id, ids, cached, wait=wait, now_ns=now
        ) as run_works:
            yield run_works

    @asynccontextmanager
    async def locked_run(self, project_id: int, run: str) -> AsyncGenerator[RunWork | None]:
        async with self.locked_runs(project_id, [run]) as run_works:
            yield run_works[0] if run_works else None

    async def has_unprojected_data(self, project_id: int, run: str) -> bool | None:
        async with self._db.reading() as conn:
            news = await sql.row(conn, "news", project_id=project_id, run=id_of(run))
        return None if news is None else news["dirty"]

    async def unprojected_runs(self, limit: int, project_id: int | None = None) -> Sequence[UnprojectedRun]:
        async with self._db.reading() as conn:
            if project_id is None:
                rows = await sql.rows(conn, "dirty_runs", how_many=limit)
            else:
                rows = await sql.rows(conn, "dirty_runs_of", project_id=project_id, how_many=limit)
        return [UnprojectedRun(project_id, run.hex, size) for project_id, run, size in rows]

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn, "sealable_runs", quiet_since=quiet_since_ns, lost_since=lost_since_ns, how_many=limit
            )
        return [(project_id, run.hex) for project_id, run in rows]

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        async with self._db.transaction() as conn:
            return len(await sql.rows(conn, "seal_runs", quiet_since=quiet_since_ns, how_many=limit))

    async def mark_lost(self, own_before_ns: int, foreign_before_ns: int, limit: int) -> int:
        times = {"own_before": own_before_ns, "foreign_before": foreign_before_ns}
        async with self._db.transaction() as conn:
            lost = await sql.rows(conn, "mark_lost", **times, how_many=limit)
            for project_id in {row["project_id"] for row in lost}:
                runs = [row["run_id"] for row in lost if row["project_id"] == project_id]
                await outcomes.lose(conn, project_id, runs)
                await changes.notify(conn, project_id, runs)
        return len(lost)

    async def runs_to_pack(self, limit: int, *, without: Sequence[int] = ()) -> Sequence[UnpackedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "runs_to_pack", how_many=limit, without=list(without))
        return [UnpackedRun(project_id, run.hex, times) for project_id, run, times in rows]

    async def pack(self, due: Sequence[UnpackedRun]) -> int:
        moved = await pack_and_index(self._db, self._memory.packs, due, date_of(self._clock()))
        await self.skip_packing(due)
        return moved

    async def skip_packing(self, due: Sequence[UnpackedRun]) -> None:
        runs, times = [id_of(entry.run) for entry in due], [entry.times for entry in due]
        async with self._db.transaction() as conn:
            await sql.run(conn, "are_packed", project_id=due[0].project_id, runs=runs, times=times)

    async def measure_older(self) -> int:
        return await descriptions.measure_older(self._db)

    async def shrink(self) -> bool:
        return await sealing.shrink(self._db)
