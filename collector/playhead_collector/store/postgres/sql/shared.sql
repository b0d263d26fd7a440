-- name: above(project_id, run)
-- The run, and those above it whose record it shares.
with recursive above (run_id, shared_run, sealed) as (
    select run_id, shared_run, sealed from run where project_id = :project_id and run_id = :run
    union
    select run.run_id, run.shared_run, run.sealed
    from above join run on run.project_id = :project_id and run.run_id = above.shared_run
)
select run_id, shared_run, sealed from above;

-- name: shared_history(project_id, parent, upto)$
-- How many messages the snapshots have that a run shares up to a seq.
with recursive part (run_id, above, low, high) as (
    select run_id, shared_run, coalesce(shared, 0), :upto::int
    from run where project_id = :project_id and run_id = :parent
    union
    select run.run_id, run.shared_run, coalesce(run.shared, 0), least(part.high, part.low)
    from part join run on run.project_id = :project_id and run.run_id = part.above
    where part.low > 0
)
select coalesce(sum(octet_length(history)), 0) / 32
from part join run_snapshot as state on state.project_id = :project_id and state.run_id = part.run_id
where state.seq > part.low and state.seq <= part.high;

-- name: wake_forks(project_id, locked, forks, changed, now)!
-- Forks of these runs whose shared part may be another now, from seq `changed` on. All rows are locked in the order of run
-- ids, those of `locked` as well: they are written next, and whoever ingests locks rows in this order, too.
with given as (
    select fork, changed from unnest(:forks::text[], :changed::int[]) as each (fork, changed)
),
fork as materialized (
    -- Not those in the archive, which have no spans to be projected.
    select run_id, labels, shared from run where project_id = :project_id and labels && :forks::text[] and tier < 3
),
woken as (
    select distinct run_id from given join fork on fork.labels @> array[given.fork]
    where fork.shared is null or fork.shared + 1 >= given.changed
),
news as (
    select run_id from run_news
    where project_id = :project_id and (run_id = any(:locked) or run_id in (select run_id from woken))
    order by run_id for update
)
update run_news set dirty_since_ns = coalesce(dirty_since_ns, :now), news = run_news.news + 1
from news join woken using (run_id)
where run_news.project_id = :project_id and run_news.run_id = news.run_id;
