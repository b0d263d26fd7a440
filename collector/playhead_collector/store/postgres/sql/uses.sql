-- name: write_content_use(project_id, run, refs, calls)!
insert into content_use (project_id, run_id, refs, calls)
select :project_id::int, :run::uuid, :refs::bigint[], :calls::int[]
where exists (select from run where project_id = :project_id and run_id = :run)
on conflict (project_id, run_id) do update set refs = excluded.refs, calls = excluded.calls;

-- name: content_uses(project_id, ref, before_started, before_run, how_many)
-- Newest first. `materialized`, so that it is planned to find all by the index, and not as if the first were met soon.
with found as materialized (
    select run_id, calls[array_position(refs, :ref)] as calls from content_use
    where refs @> array[:ref::bigint] and project_id = :project_id
)
select run.run_id, run.started_ns, found.calls
from found cross join lateral (
    select run_id, started_ns from run where project_id = :project_id and run_id = found.run_id offset 0
) as run
where (run.started_ns, run.run_id) < (:before_started, :before_run::uuid)
order by run.started_ns desc, run.run_id desc limit :how_many;

-- name: content_use_totals(project_id, ref, without)^
-- Without the runs that are counted already.
with found as materialized (
    select run_id, calls[array_position(refs, :ref)] as calls from content_use
    where refs @> array[:ref::bigint] and project_id = :project_id and run_id <> all(:without::uuid[])
)
select count(*) as runs, coalesce(sum(found.calls), 0)::bigint as calls,
    min(run.started_ns) as first_ns, max(run.started_ns) as last_ns
from found cross join lateral (
    select started_ns from run where project_id = :project_id and run_id = found.run_id offset 0
) as run;

-- name: runs_packed_with(project_id, key, most)
-- Runs of which one brought the content into its pack; a few too many, since packs are found by a short hash.
select distinct on (run.run_id) run.run_id, run.started_ns
from content_pack
cross join lateral unnest(content_pack.runs) as named (run_id)
cross join lateral (
    select run_id, started_ns from run where project_id = :project_id and run_id = named.run_id offset 0
) as run
where keys && array[:key::int] and content_pack.project_id = :project_id
order by run.run_id limit :most;

-- name: is_any_run_thinned(project_id)$
-- A thinned run's record is in one piece, and its row of `content_use` is gone.
select exists (select from packed_run where project_id = :project_id);

-- name: runs_without_uses(project_id, how_many)
-- Those that go on, that have ended and are not sealed, and that are sealed and not packed yet; each has an index.
select run.run_id, run.started_ns from (
    (select run_id from run where project_id = :project_id and labels @> array['status:running'] limit 1000)
    union
    (select run_id from run where project_id = :project_id and not sealed and ended_ns is not null limit 1000)
    union
    (select run_id from packing_due where project_id = :project_id limit 1000)
) as waiting
cross join lateral (
    select run_id, started_ns from run where project_id = :project_id and run_id = waiting.run_id offset 0
) as run
where not exists (
    select from content_use where content_use.project_id = :project_id and content_use.run_id = run.run_id
)
order by run.started_ns desc limit :how_many;
