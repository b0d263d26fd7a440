-- name: fill_outbox(project_id, destinations, runs, digests, spans, logs, now)!
insert into forward_outbox (project_id, destination, run_id, digest, spans, logs, created_ns, due_ns)
select :project_id, destination, run_id, digest, spans, logs, :now, :now
from unnest(:destinations::text[], :runs::uuid[], :digests::uuid[], :spans::bytea[], :logs::bytea[])
    as given (destination, run_id, digest, spans, logs);

-- name: mark_news_and_fill_outbox(project_id, runs, arrived, own, destinations, entry_runs, digests, spans, logs, now)!
-- `fill_outbox` and `mark_news` in one round trip, since a destination is to cost ingest next to nothing.
with filled as (
    insert into forward_outbox (project_id, destination, run_id, digest, spans, logs, created_ns, due_ns)
    select :project_id::int, destination, run_id, digest, spans, logs, :now::bigint, :now::bigint
    from unnest(:destinations::text[], :entry_runs::uuid[], :digests::uuid[], :spans::bytea[], :logs::bytea[])
        as given (destination, run_id, digest, spans, logs)
)
insert into run_news (project_id, run_id, arrived_ns, own_arrived_ns, dirty_since_ns, news)
select :project_id::int, run_id, arrived_ns, own_ns, :now::bigint, 1
from unnest(:runs::uuid[], :arrived::bigint[], :own::bigint[]) as given (run_id, arrived_ns, own_ns) order by run_id
on conflict (project_id, run_id) do update
set arrived_ns = greatest(run_news.arrived_ns, excluded.arrived_ns),
    own_arrived_ns = greatest(run_news.own_arrived_ns, excluded.own_arrived_ns),
    dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns),
    news = run_news.news + 1;

-- name: take_entries(destination, now, until, how_many)
-- Passing over those that another worker takes at this moment.
with due as materialized (
    select entry from forward_outbox
    where destination = :destination and reason is null and due_ns <= :now
    order by due_ns, entry limit :how_many
    for update skip locked
)
update forward_outbox as taken set due_ns = :until, attempts = attempts + 1
from due where taken.entry = due.entry
returning taken.entry, project_id, run_id, created_ns, attempts, spans, logs, digest;

-- name: keep_entries(entries, until)!
update forward_outbox set due_ns = :until where entry = any(:entries::bigint[]) and reason is null;

-- name: outbox_page(project_id, run, digest)^
-- decrypts: body=span_page
select page, body from span_page where project_id = :project_id and run_id = :run and digest = :digest;

-- name: delete_entries(entries)!
delete from forward_outbox where entry = any(:entries::bigint[]);

-- name: postpone_entries(entries, dues, spans, logs, attempts)!
update forward_outbox as later
set due_ns = given.due_ns, spans = given.spans, logs = given.logs, attempts = given.attempts
from unnest(:entries::bigint[], :dues::bigint[], :spans::bytea[], :logs::bytea[], :attempts::int[])
    as given (entry, due_ns, spans, logs, attempts)
where later.entry = given.entry;

-- name: bury_entries(destinations, projects, runs, spans, logs, created, reasons)!
-- encrypts: reasons=outbox
insert into forward_outbox (destination, project_id, run_id, spans, logs, created_ns, due_ns, reason)
select destination, project_id, run_id, spans, logs, created_ns, created_ns, reason
from unnest(:destinations::text[], :projects::int[], :runs::uuid[], :spans::bytea[], :logs::bytea[],
    :created::bigint[], :reasons::text[]) as given (destination, project_id, run_id, spans, logs, created_ns, reason);

-- name: destinations_of(entries)
select entry, destination from forward_outbox where entry = any(:entries::bigint[]);

-- name: outbox_status()
-- Each key has 8 bytes; an entry that names all of a run counts as one.
select destination,
    count(*) filter (where reason is null) as waiting,
    coalesce(sum(coalesce(octet_length(spans) / 8, 1) + coalesce(octet_length(logs) / 8, 0)) filter (where reason is null), 0)::bigint as waiting_items,
    min(created_ns) filter (where reason is null) as oldest_ns,
    count(*) filter (where reason is not null) as dead,
    coalesce(sum(coalesce(octet_length(spans) / 8, 1) + coalesce(octet_length(logs) / 8, 0)) filter (where reason is not null), 0)::bigint as dead_items
from forward_outbox group by destination order by destination;

-- name: dead_letters(destination, after, how_many)
-- decrypts: reason=outbox
select entry, project_id, run_id, reason, created_ns, spans, logs from forward_outbox
where destination = :destination and reason is not null and entry > :after order by entry limit :how_many;

-- name: retry_dead(destination, entries, now)!
-- As if they were new: those that are retried last would otherwise be the first to be too old.
update forward_outbox set reason = null, attempts = 0, due_ns = :now, created_ns = :now
where destination = :destination and reason is not null and (:entries::bigint[] is null or entry = any(:entries));

-- name: drop_entries(destination, entries, waiting)!
delete from forward_outbox
where destination = :destination and (:waiting::bool or reason is not null)
    and (:entries::bigint[] is null or entry = any(:entries));

-- name: backfill_run(project_id, destination, run, logs, now)!
insert into forward_outbox (project_id, destination, run_id, logs, created_ns, due_ns)
select :project_id, :destination, run_id, :logs::bytea, :now, :now
from run where project_id = :project_id and run_id = :run;

-- name: backfill_since(project_id, destination, since, least, logs, now)!
-- `least`: of a run id's last 56 bits, from where on it is in no sample.
insert into forward_outbox (project_id, destination, run_id, logs, created_ns, due_ns)
select :project_id, :destination, run_id, :logs::bytea, :now, :now
from run where project_id = :project_id and started_ns >= :since
    and ('x' || '00' || right(replace(run_id::text, '-', ''), 14))::bit(64)::bigint < :least
order by started_ns;

-- name: expire_old(destination, before)
delete from forward_outbox where destination = :destination and created_ns < :before
returning coalesce(octet_length(spans) / 8, 1) + coalesce(octet_length(logs) / 8, 0) as items;

-- name: forget_destinations(known, before)!
delete from forward_outbox where destination <> all(:known::text[]) and created_ns < :before;

-- name: expire_beyond(destination, most)
-- The oldest entries of a destination, so that no more than that wait.
with counted as (
    select entry, sum(coalesce(octet_length(spans) / 8, 1) + coalesce(octet_length(logs) / 8, 0)) over (order by entry desc) as items
    from forward_outbox where destination = :destination
)
delete from forward_outbox as gone using counted
where gone.entry = counted.entry and counted.items > :most
returning coalesce(octet_length(gone.spans) / 8, 1) + coalesce(octet_length(gone.logs) / 8, 0) as items;
