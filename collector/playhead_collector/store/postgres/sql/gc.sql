-- name: sweep(project_id)^
select * from gc_sweep where project_id = :project_id;

-- name: sweeps_due(until)
-- Projects with a sweep under way, or with runs that were deleted (or still arrived) before then and were not swept, or
-- with conversations that were.
select project_id from gc_sweep
union
select project_id from run_tombstone where not swept and late_ns <= :until
union
select project_id from sweep_due where since_ns <= :until;

-- name: lock_sweep(project_id)$
-- One step at a time, whoever makes it.
select pg_try_advisory_xact_lock(hashtext('playhead.sweep'), :project_id::int);

-- name: clear_news(project_id)!
delete from gc_news where project_id = :project_id;

-- name: begin_sweep(project_id, now, cutoff)!
insert into gc_sweep (project_id, started_ns, cutoff) values (:project_id, :now, :cutoff);

-- name: move_sweep(project_id, phase, at_run, at_ref, at_lineage, at_depth, contents, nodes)!
update gc_sweep
set phase = :phase, at_run = :at_run, at_ref = :at_ref, at_lineage = :at_lineage, at_depth = :at_depth,
    contents = contents + :contents, nodes = nodes + :nodes
where project_id = :project_id;

-- name: new_epoch(project_id)!
update project set gc_epoch = gen_random_uuid() where project_id = :project_id;

-- name: end_sweep(project_id)!
delete from gc_sweep where project_id = :project_id;

-- name: swept(project_id, until)!
-- The content of these is gone, but for what others name.
with due as (delete from sweep_due where project_id = :project_id and since_ns <= :until)
update run_tombstone set swept = true where project_id = :project_id and late_ns <= :until;

-- name: runs_after(project_id, after, how_many)
select run_id from run where project_id = :project_id and run_id > :after order by run_id limit :how_many;

-- name: bodies_of(project_id, run)
-- decrypts: body=@kind, beside=span_page
-- All that is stored of a run and may name content; `beside`: what a body has to be read with.
select page.body, null::bytea as beside, 'span_page' as kind from span_page as page where page.project_id = :project_id and page.run_id = :run
union all
select page.body, beside.body, 'event_page'
from event_page as page
left join span_page as beside
    on beside.project_id = page.project_id and beside.run_id = page.run_id and beside.page = page.beside
where page.project_id = :project_id and page.run_id = :run
union all
select body, null, 'snapshot' from run_snapshot where project_id = :project_id and run_id = :run;

-- name: mark_history(project_id, run)!
-- Messages of snapshots: 32 bytes each.
insert into gc_mark (project_id, ref)
select distinct :project_id::int, substring(history from at * 32 + 1 for 32)
from run_snapshot, generate_series(0, octet_length(history) / 32 - 1) as at
where project_id = :project_id and run_id = :run
on conflict (project_id, ref) do nothing;

-- name: mark(project_id, refs)!
insert into gc_mark (project_id, ref) select distinct :project_id::int, ref from unnest(:refs::bytea[]) as given (ref)
on conflict (project_id, ref) do nothing;

-- name: mark_stated(project_id)!
-- What is named apart from runs: explanations, conversations, and messages of threads whose beginning has not come.
insert into gc_mark (project_id, ref)
select content, ref from (
    select project_id as content, content as ref from explanation where project_id = :project_id
    union
    select project_id, head from conversation where project_id = :project_id and head is not null and log is null
    union
    select record.project_id, substring(record.refs from at * 32 + 1 for 32)
    from conversation_record as record, generate_series(0, octet_length(record.refs) / 32 - 1) as at
    where record.project_id = :project_id
    union
    select orphan.project_id, substring(orphan.messages from at * 32 + 1 for 32)
    from thread_orphan as orphan, generate_series(0, octet_length(orphan.messages) / 32 - 1) as at
    where orphan.project_id = :project_id
    union
    select project_id, parent from thread_orphan where project_id = :project_id
) as named
on conflict (project_id, ref) do nothing;

-- name: forget_orphans(project_id, cutoff)!
-- Extensions of threads that never came, and that nobody waits for any more.
delete from thread_orphan as orphan
where project_id = :project_id and kept_since < :cutoff
    and not exists (select from pending_ref where pending_ref.project_id = :project_id and pending_ref.ref = orphan.tip)
    and not exists (
        select from thread_orphan as next where next.project_id = :project_id and next.parent = orphan.tip
    );

-- name: mark_young_contents(project_id, after, cutoff, how_many)$
-- Content that was seen lately stays. The last that was looked at, null at the end.
with part as materialized (
    select ref, last_seen from content where project_id = :project_id and ref > :after order by ref limit :how_many
),
marked as (
    insert into gc_mark (project_id, ref) select :project_id, ref from part where last_seen >= :cutoff
    on conflict (project_id, ref) do nothing
)
select ref from part order by ref desc limit 1;

-- name: mark_young_nodes(project_id, lineage, depth, cutoff, how_many)^
with part as materialized (
    select lineage, depth, ref, last_seen from thread_node
    where project_id = :project_id and (lineage, depth) > (:lineage, :depth) order by lineage, depth limit :how_many
),
marked as (
    insert into gc_mark (project_id, ref) select distinct :project_id::int, ref from part where last_seen >= :cutoff
    on conflict (project_id, ref) do nothing
)
select lineage, depth from part order by lineage desc, depth desc limit 1;

-- name: take_news(project_id)!
with news as (delete from gc_news where project_id = :project_id returning ref)
insert into gc_mark (project_id, ref) select distinct :project_id::int, ref from news
on conflict (project_id, ref) do nothing;

-- name: untraced(project_id, how_many)
select ref from gc_mark where project_id = :project_id and not traced limit :how_many;

-- name: trace_threads(project_id, refs)!
-- All nodes of those that are threads stay, and their messages. `offset 0`: see find_nodes in threads.sql.
with recursive path (lineage, upto) as (
    select node.lineage, max(node.depth)
    from unnest(:refs::bytea[]) as given (ref)
    cross join lateral (
        select project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
    group by node.lineage
    union
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
),
reach as (
    select lineage, max(upto) as upto from path group by lineage
),
nodes as materialized (
    select node.ref, node.message, node.parent
    from reach
    cross join lateral (
        select ref, message, parent from thread_node
        where project_id = :project_id and lineage = reach.lineage and depth <= reach.upto
        offset 0
    ) as node
),
named as (
    select ref, true as traced from nodes
    union all
    select message, false from nodes
    union all
    select parent, false from nodes where parent is not null
)
insert into gc_mark (project_id, ref, traced)
select :project_id, ref, bool_or(traced) from named group by ref
on conflict (project_id, ref) do update set traced = true
where excluded.traced and not gc_mark.traced;

-- name: mark_named(project_id, refs)!
-- What contents name whose bodies are in the object store: 32 bytes each.
insert into gc_mark (project_id, ref)
select distinct :project_id::int, substring(names from at * 32 + 1 for 32)
from content, generate_series(0, octet_length(names) / 32 - 1) as at
where project_id = :project_id and ref = any(:refs) and names is not null
on conflict (project_id, ref) do nothing;

-- name: content_sizes(project_id, refs)
select ref, octet_length(body) as bytes from content
where project_id = :project_id and ref = any(:refs) and names is null;

-- name: content_bodies(project_id, refs)
-- decrypts: body=content
select encoding, body from content where project_id = :project_id and ref = any(:refs);

-- name: traced(project_id, refs)!
update gc_mark set traced = true where project_id = :project_id and ref = any(:refs) and not traced;

-- name: doom_nodes(project_id, lineage, depth, cutoff, how_many)^
-- Notes nodes that may go. The last that was looked at, nothing at the end.
with part as materialized (
    select lineage, depth, ref, last_seen from thread_node
    where project_id = :project_id and (lineage, depth) > (:lineage, :depth) order by lineage, depth limit :how_many
),
doomed as (
    insert into gc_doomed (project_id, depth, lineage)
    select :project_id, depth, lineage from part
    where last_seen < :cutoff
        and not exists (select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = part.ref)
    on conflict do nothing
)
select lineage, depth from part order by lineage desc, depth desc limit 1;

-- name: delete_nodes(project_id, cutoff, how_many)^
-- The deepest first: what is left of a thread is always whole.
with batch as materialized (
    select depth, lineage from gc_doomed
    where project_id = :project_id order by depth desc, lineage desc limit :how_many
),
looked as (
    delete from gc_doomed using batch
    where gc_doomed.project_id = :project_id and gc_doomed.depth = batch.depth and gc_doomed.lineage = batch.lineage
),
gone as (
    delete from thread_node as node using batch
    where node.project_id = :project_id and node.lineage = batch.lineage and node.depth = batch.depth
        and node.last_seen < :cutoff
        and not exists (select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = node.ref)
    returning node.depth
)
select (select count(*) from batch) as looked, (select count(*) from gone) as gone;

-- name: delete_contents(project_id, after, cutoff, how_many)^
with part as materialized (
    select ref from content where project_id = :project_id and ref > :after order by ref limit :how_many
),
gone as (
    delete from content using part
    where content.project_id = :project_id and content.ref = part.ref and content.last_seen < :cutoff
        and not exists (select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = part.ref)
    returning content.ref
)
select array(select ref from gone) as gone, (select ref from part order by ref desc limit 1) as ref;

-- name: unmark(project_id, how_many)!
delete from gc_mark where ctid = any(array(select ctid from gc_mark where project_id = :project_id limit :how_many));
