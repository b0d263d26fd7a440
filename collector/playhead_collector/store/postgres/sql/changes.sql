-- name: take_turns(project_id)!
-- Transactions that number changes commit one after the other, in the order of their numbers.
select pg_advisory_xact_lock(hashtext('playhead.changes'), :project_id::int);

-- name: write_changes(project_id, now, projections, runs, firsts, lasts, knowns, altered, was)!
-- `altered` and `was`: an array as text for each row, or null.
insert into run_change (projection, at_ns, project_id, first_seq, last_seq, known, run_id, altered, was)
select projection, :now, :project_id, first_seq, last_seq, known, run_id, altered::int[], was::int[]
from unnest(
    :projections::bigint[], :runs::uuid[], :firsts::int[], :lasts::int[], :knowns::int[], :altered::text[], :was::text[]
) as given (projection, run_id, first_seq, last_seq, known, altered, was);

-- name: tell_changes(payload)$
-- Processes that follow runs read them when this transaction commits.
select pg_notify('playhead_changes', :payload);

-- name: changes_removed(project_id)$
select coalesce((select changes_removed from project where project_id = :project_id), 0);

-- name: newest_change(project_id)$
select coalesce(max(projection), 0) from run_change where project_id = :project_id;

-- name: change_before(project_id, time)$
-- The times of changes grow with their numbers: the last one before a time is found by halving, with a row for each step.
with recursive halved (low, high) as (
    select coalesce(min(projection), 1) - 1, coalesce(max(projection), 0) from run_change where project_id = :project_id
    union all
    select
        case when found.at_ns >= :time then low else middle end,
        case when found.at_ns >= :time then found.projection - 1 else high end
    from halved
    cross join lateral (select (low + high + 1) / 2 as middle) as half
    left join lateral (
        select projection, at_ns from run_change
        where project_id = :project_id and projection > low and projection <= middle order by projection desc limit 1
    ) as found on true
    where low < high
)
select low from halved where low >= high;

-- name: run_head(project_id, run)^
select projection, events, status,
    status = 'lost'
        or (
            ended_ns is not null and status <> 'running'
            and (sealed or (spans_missing = 0 and content_pending = 0 and processes_open = 0))
        ) as is_over
from run where project_id = :project_id and run_id = :run;

-- name: run_changes(project_id, run, after, how_many)
select * from run_change
where project_id = :project_id and run_id = :run and projection > :after order by projection limit :how_many;

-- name: all_changes(project_id, after, how_many)
select * from run_change where project_id = :project_id and projection > :after order by projection limit :how_many;

-- name: moves(project_id, runs, after)
select * from run_change
where project_id = :project_id and run_id = any(:runs) and projection > :after and was is not null order by projection;

-- name: projections_of(project_id, runs)
select run_id, projection from run where project_id = :project_id and run_id = any(:runs);

-- name: forget_changes(before)!
with gone as (
    delete from run_change where (project_id, projection) in (
        select project_id, projection from project
        cross join lateral (
            select projection, at_ns from run_change
            where run_change.project_id = project.project_id order by projection limit 10000
        ) as first_changes
        where at_ns < :before
    )
    returning project_id, projection
),
newest as (select project_id, max(projection) as projection from gone group by project_id)
update project set changes_removed = greatest(changes_removed, newest.projection)
from newest where project.project_id = newest.project_id;
