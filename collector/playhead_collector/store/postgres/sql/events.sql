-- name: event_digests(project_id, runs)
select run_id, page, beside, first_seq, last_seq, sha256(body) as digest from event_page
where project_id = :project_id and run_id = any(:runs);

-- name: event_bodies(project_id, runs)
-- decrypts: body=event_page
-- As `event_digests`, of a project that is encrypted: there, equal pages do not look equal.
select run_id, page, beside, first_seq, last_seq, body from event_page
where project_id = :project_id and run_id = any(:runs);

-- name: write_event_pages(project_id, runs, besides, pages, firsts, lasts, bodies)!
-- encrypts: bodies=event_page
insert into event_page (project_id, run_id, beside, page, first_seq, last_seq, body)
select :project_id, run_id, beside, page, first_seq, last_seq, body
from unnest(:runs::uuid[], :besides::bigint[], :pages::int[], :firsts::int[], :lasts::int[], :bodies::bytea[])
    as given (run_id, beside, page, first_seq, last_seq, body)
on conflict (project_id, run_id, page) do update
set beside = excluded.beside, first_seq = excluded.first_seq, last_seq = excluded.last_seq, body = excluded.body;

-- name: delete_event_pages(project_id, runs, pages)!
delete from event_page using unnest(:runs::uuid[], :pages::int[]) as gone (run_id, page)
where project_id = :project_id and event_page.run_id = gone.run_id and event_page.page = gone.page;

-- name: read_event_pages(project_id, run, after, upto, how_many)
-- decrypts: body=@kind, beside=span_page
-- Of a fork, first what it shares with the runs above it: of each run, the events with low < seq <= high.
with recursive part (run_id, above, low, high) as (
    select run_id, shared_run, coalesce(shared, 0), :upto::int from run where project_id = :project_id and run_id = :run
    union
    select run.run_id, run.shared_run, coalesce(run.shared, 0), least(part.high, part.low)
    from part join run on run.project_id = :project_id and run.run_id = part.above
    where part.low > :after
),
page as (
    select event_page.run_id, event_page.page, event_page.first_seq, event_page.beside, part.low, part.high,
        -- How many of the events that are asked for stand before this page: pages of an open run may be small.
        sum(least(event_page.last_seq, part.high) - greatest(event_page.first_seq - 1, part.low, :after))
            over (order by event_page.first_seq rows between unbounded preceding and 1 preceding) as before
    from part
    join event_page on event_page.project_id = :project_id and event_page.run_id = part.run_id
        and event_page.last_seq > greatest(part.low, :after) and event_page.first_seq <= part.high
    where greatest(part.low, :after) < part.high
)
select page.run_id, page.first_seq, event_page.body, span_page.body as beside, greatest(page.low, :after) as low,
    page.high, null::bigint as object, null::bigint as object_start, null::int as object_length,
    null::bytea as object_digest, 'event_page' as kind
from page
join event_page on event_page.project_id = :project_id and event_page.run_id = page.run_id
    and event_page.page = page.page
left join span_page on span_page.project_id = :project_id and span_page.run_id = page.run_id
    and span_page.page = page.beside
where coalesce(page.before, 0) < :how_many
union all
-- A thinned run has all its pages in one row; `first_seq` 0 says so.
select part.run_id, 0, packed_run.body, null, greatest(part.low, :after), part.high, packed_run.object,
    packed_run.object_start, packed_run.object_length, packed_run.object_digest, 'packed_run'
from part join packed_run on packed_run.project_id = :project_id and packed_run.run_id = part.run_id
where greatest(part.low, :after) < part.high
order by first_seq;

-- name: read_pages_of_events(project_id, runs, pages)
-- decrypts: body=event_page, beside=span_page
select event_page.run_id, event_page.page, event_page.first_seq, event_page.body, span_page.body as beside
from event_page join unnest(:runs::uuid[], :pages::int[]) as given (run_id, page) using (run_id, page)
left join span_page on span_page.project_id = :project_id and span_page.run_id = event_page.run_id
    and span_page.page = event_page.beside
where event_page.project_id = :project_id;

-- name: snapshot_digests(project_id, runs)
select run_id, seq, sha256(history || body) as digest from run_snapshot
where project_id = :project_id and run_id = any(:runs);

-- name: snapshot_bodies(project_id, runs)
-- decrypts: body=snapshot
select run_id, seq, history, body from run_snapshot where project_id = :project_id and run_id = any(:runs);

-- name: write_snapshots(project_id, runs, seqs, histories, bodies)!
-- encrypts: bodies=snapshot
insert into run_snapshot (project_id, run_id, seq, history, body)
select :project_id, run_id, seq, history, body
from unnest(:runs::uuid[], :seqs::int[], :histories::bytea[], :bodies::bytea[]) as new (run_id, seq, history, body)
on conflict (project_id, run_id, seq) do update set history = excluded.history, body = excluded.body;

-- name: delete_snapshots(project_id, runs, seqs)!
delete from run_snapshot using unnest(:runs::uuid[], :seqs::int[]) as gone (run_id, seq)
where project_id = :project_id and run_snapshot.run_id = gone.run_id and run_snapshot.seq = gone.seq;

-- name: read_snapshot(project_id, run, seq)
-- decrypts: body=snapshot
-- The history in parts, oldest first; the last row has the state. Of a fork, also those that it shares.
with recursive part (run_id, above, low, high) as (
    select run_id, shared_run, coalesce(shared, 0), :seq::int from run where project_id = :project_id and run_id = :run
    union
    select run.run_id, run.shared_run, coalesce(run.shared, 0), least(part.high, part.low)
    from part join run on run.project_id = :project_id and run.run_id = part.above
    where part.low > 0
)
select history, case when seq = max(seq) over () then body end as body
from part join run_snapshot as state on state.project_id = :project_id and state.run_id = part.run_id
    and state.seq > part.low and state.seq <= part.high
order by state.seq;
