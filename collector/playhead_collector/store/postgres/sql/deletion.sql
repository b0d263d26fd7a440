-- name: enter(project_id, runs)^
-- To be the first statement of every transaction that stores content or spans: deletions and steps of a sweep wait until
-- it commits. Whether a sweep is under way, which of these runs were deleted, and which were taken over.
select sweeping, gone, array(
    select concat_ws(' ', run_id, attempt, (extract(epoch from since) * 1000000000)::bigint)
    from run_takeover where project_id = :project_id and run_id = any(:runs::uuid[])
) as taken
from playhead_enter(:project_id, :runs::uuid[]);

-- name: bound_locks(milliseconds)!
-- This transaction waits no longer than that for a lock; those that want the same wait behind it.
select set_config('lock_timeout', :milliseconds::text, true);

-- name: enter_alone(project_id)!
-- Until the end of the transaction nothing is stored in the project.
select pg_advisory_xact_lock(hashtext('playhead.content'), :project_id::int);

-- name: note_news(project_id, refs)!
-- A sweep is under way, or something is to be erased: what is stored or named from now on stays. Rows are locked in one
-- order, so that writers of the same refs do not wait for each other in a circle.
with named as materialized (
    select ref from gc_erasing where project_id = :project_id and ref = any(:refs::bytea[]) order by ref for update
),
kept as (
    delete from gc_erasing using named where gc_erasing.project_id = :project_id and gc_erasing.ref = named.ref
)
insert into gc_news (project_id, ref)
select :project_id, ref from unnest(:refs::bytea[]) as given (ref)
where exists (select from gc_sweep where gc_sweep.project_id = :project_id);

-- name: drop_late(project_id, runs, items, now)!
-- What arrived of runs that were deleted.
update run_tombstone set late_ns = :now, dropped = dropped + given.items, swept = false
from unnest(:runs::uuid[], :items::int[]) as given (run_id, items)
where project_id = :project_id and run_tombstone.run_id = given.run_id;

-- name: forks_of(project_id, labels)
select run_id from run where project_id = :project_id and labels && :labels::text[];

-- name: lock_runs(project_id, runs)
-- Waits for whoever projects them now.
select run_id from run where project_id = :project_id and run_id = any(:runs) order by run_id for update;

-- name: delete_runs(project_id, runs, now)!
with pages as (delete from span_page where project_id = :project_id and run_id = any(:runs)),
events as (delete from event_page where project_id = :project_id and run_id = any(:runs)),
snapshots as (delete from run_snapshot where project_id = :project_id and run_id = any(:runs)),
calls as (delete from llm_call where project_id = :project_id and run_id = any(:runs)),
tools as (delete from tool_call where project_id = :project_id and run_id = any(:runs)),
decisions as (delete from decision where project_id = :project_id and run_id = any(:runs)),
errors as (delete from error where project_id = :project_id and run_id = any(:runs)),
promises as (delete from promise where project_id = :project_id and run_id = any(:runs)),
due as (delete from packing_due where project_id = :project_id and run_id = any(:runs)),
pending as (delete from pending_ref where project_id = :project_id and run_id = any(:runs)),
news as (delete from run_news where project_id = :project_id and run_id = any(:runs)),
leases as (delete from run_lease where project_id = :project_id and run_id = any(:runs)),
takeovers as (delete from run_takeover where project_id = :project_id and run_id = any(:runs)),
explanations as (delete from explanation where project_id = :project_id and run_id = any(:runs)),
scorings as (delete from scoring_due where project_id = :project_id and run_id = any(:runs)),
scores as (delete from score where project_id = :project_id and run_id = any(:runs)),
uses as (delete from content_use where project_id = :project_id and run_id = any(:runs)),
changes as (delete from run_change where project_id = :project_id and run_id = any(:runs)),
outcomes as (delete from run_outcome where project_id = :project_id and run_id = any(:runs)),
notes as (delete from note where project_id = :project_id and run_id = any(:runs)),
packed as (delete from packed_run where project_id = :project_id and run_id = any(:runs)),
pins as (delete from pin where project_id = :project_id and run_id = any(:runs)),
runs as (delete from run where project_id = :project_id and run_id = any(:runs))
insert into run_tombstone (project_id, run_id, deleted_ns, late_ns)
select :project_id, run_id, :now, :now from unnest(:runs::uuid[]) as given (run_id)
on conflict (project_id, run_id) do update
set deleted_ns = excluded.deleted_ns, late_ns = excluded.late_ns, swept = false;

-- name: forget_tombstones(before)!
-- Of runs that nothing has arrived of since then, and whose content was swept. One in the archive keeps its own: what
-- arrives of it is dropped as long as it is there.
delete from run_tombstone
where swept and late_ns < :before and not exists (
    select from run where run.project_id = run_tombstone.project_id and run.run_id = run_tombstone.run_id
);
