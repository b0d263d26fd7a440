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

-- name: run_facts(project_id, labels, search, id_part, since, until, score_name, how_many)
-- Runs that are no forks, newest first, with the latest score of that name of the whole run.
select run.*, false as parent_missing, 0 as forks, scored.number as score_number, scored.label as score_label
from run
left join lateral (
    select number, label from score
    where score.project_id = run.project_id and score.run_id = run.run_id and name = :score_name and span is null
    order by scored_ns desc, score_id desc limit 1
) as scored on true
where project_id = :project_id and fork_of is null and labels @> :labels::text[] and strpos(search, :search) > 0
    and (:id_part = '' or strpos(replace(run_id::text, '-', ''), :id_part) > 0)
    and started_ns >= :since and started_ns <= :until
order by started_ns desc, run_id desc limit :how_many;

-- name: facts_of_runs(project_id, runs, score_name)
-- Those of these runs that are no forks, newest first, with their latest score as above.
select run.*, false as parent_missing, 0 as forks, scored.number as score_number, scored.label as score_label
from run
left join lateral (
    select number, label from score
    where score.project_id = run.project_id and score.run_id = run.run_id and name = :score_name and span is null
    order by scored_ns desc, score_id desc limit 1
) as scored on true
where project_id = :project_id and run_id = any(:runs::uuid[]) and fork_of is null
order by started_ns desc, run_id desc;

-- name: tool_steps(project_id, runs)
select run_id, array_agg(tool order by seq) as tools, array_agg(outcome order by seq) as outcomes,
    array_agg(seq order by seq) as seqs
from tool_call where project_id = :project_id and run_id = any(:runs::uuid[]) group by run_id;

-- name: last_errors(project_id, runs)
select distinct on (run_id) run_id, seq, error_type, about
from error where project_id = :project_id and run_id = any(:runs::uuid[]) order by run_id, seq desc;

-- name: touch_contents(project_id, refs, today)
-- Those of these refs that are stored; they are seen today.
with touched as (
    update content set last_seen = :today
    where project_id = :project_id and ref = any(:refs) and last_seen < :today
)
select ref from content where project_id = :project_id and ref = any(:refs);

-- name: insert_contents(project_id, today, refs, media, encodings, roles, bodies)$
-- Whether any run of the project waits for anything.
with new as (
    insert into content (project_id, last_seen, ref, media, encoding, role, body)
    select :project_id, :today, ref, media, encoding, role, body
    from unnest(:refs::bytea[], :media::int[], :encodings::smallint[], :roles::smallint[], :bodies::bytea[])
        as given (ref, media, encoding, role, body)
    on conflict (project_id, ref) do nothing
)
select exists (select from pending_ref where project_id = :project_id) as awaited;

-- name: touch(project_id, refs, today)
-- Those of these refs that are stored, as content or as thread; they are seen today.
-- `offset 0`: see find_nodes. By ctid, since a join could be planned in the same way.
with contents as (
    update content set last_seen = :today
    where project_id = :project_id and ref = any(:refs) and last_seen < :today
),
found as materialized (
    select node.ref, node.place, node.last_seen
    from unnest(:refs::bytea[]) as given (ref)
    cross join lateral (
        select ref, project_id, last_seen, ctid as place from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
),
nodes as (
    update thread_node set last_seen = :today
    where ctid = any(array(select place from found where last_seen < :today))
        and project_id = :project_id and last_seen < :today
)
select ref from content where project_id = :project_id and ref = any(:refs)
union all
select ref from found;

-- name: insert_media_types(project_id, names)!
insert into media_type (project_id, name)
select :project_id, name from unnest(:names::text[]) as new (name)
on conflict (project_id, name) do nothing;

-- name: media_types(project_id, names)
select name, media from media_type where project_id = :project_id and name = any(:names);

-- name: read_contents(project_id, refs)
-- Contents, and thread nodes (whose encoding is null): their message and parent, 32 bytes each, as body.
-- `offset 0`: see find_nodes.
with found as materialized (
    select content.ref, content.media, media_type.name, content.encoding, content.body
    from content
    left join media_type using (project_id, media)
    where content.project_id = :project_id and content.ref = any(:refs)
)
select ref, media, name, encoding, body from found
union all
select node.ref, 0, null, null, node.message || coalesce(parent.ref, node.parent, '')
from (select unnest(:refs::bytea[]) except select ref from found) as rest (ref)
cross join lateral (select * from thread_node where ref = rest.ref offset 0) as node
left join lateral (
    select ref from thread_node
    where project_id = :project_id and lineage = coalesce(node.parent_lineage, node.lineage) and depth = node.depth - 1
    offset 0
) as parent on true
where node.project_id = :project_id;

-- name: refs_between(project_id, lows, highs)
-- For each range, a content whose ref is in it.
select found.ref from unnest(:lows::bytea[], :highs::bytea[]) as given (low, high)
cross join lateral (
    select ref from content where project_id = :project_id and ref between given.low and given.high limit 1
) as found;

-- name: is_awaited(project_id, ref)$
select exists (select from pending_ref where project_id = :project_id and ref = :ref);

-- name: media_names(project_id, numbers)
select media, name from media_type where project_id = :project_id and media = any(:numbers);

-- name: epoch(project_id)$
select gc_epoch from project where project_id = :project_id;

-- name: insert_project(project_id)!
insert into project (project_id, name) values (:project_id, 'project ' || :project_id::int) on conflict do nothing;

-- name: dictionary(project_id, dictionary)$
select body from dictionary where project_id = :project_id and dictionary = :dictionary;

-- name: dictionaries(project_id)
-- Newest first.
select dictionary, contents, body <> '' as useful
from dictionary where project_id = :project_id order by dictionary desc;

-- name: lock_dictionaries(project_id)$
-- One collector trains at a time.
select pg_try_advisory_xact_lock(hashtext('playhead.dictionary'), :project_id::int);

-- name: count_contents(project_id, enough)$
select sum(contents)::bigint from (
    (select 1 as contents from content where project_id = :project_id limit :enough)
    union all
    (select cardinality(keys) from content_pack where project_id = :project_id limit :enough)
) as counted;

-- name: sample_contents(project_id, wanted, largest)
-- Refs are hashes, so the lowest are a fair sample, and the same one for everybody.
select encoding, body from content
where project_id = :project_id and octet_length(body) <= :largest
order by ref limit :wanted;

-- name: insert_dictionary(project_id, dictionary, contents, body)!
insert into dictionary (project_id, dictionary, contents, body) values (:project_id, :dictionary, :contents, :body);

-- name: roles_of(project_id, refs)
-- Of those that are stored.
select ref, role from unnest(:refs::bytea[]) as given (ref)
cross join lateral (select role from content where project_id = :project_id and ref = given.ref offset 0) as content;

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
-- A sweep is under way: what is stored or named from now on stays.
insert into gc_news (project_id, ref) select :project_id, ref from unnest(:refs::bytea[]) as given (ref);

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
scores as (delete from score where project_id = :project_id and run_id = any(:runs)),
uses as (delete from content_use where project_id = :project_id and run_id = any(:runs)),
changes as (delete from run_change where project_id = :project_id and run_id = any(:runs)),
runs as (delete from run where project_id = :project_id and run_id = any(:runs))
insert into run_tombstone (project_id, run_id, deleted_ns, late_ns)
select :project_id, run_id, :now, :now from unnest(:runs::uuid[]) as given (run_id)
on conflict (project_id, run_id) do update
set deleted_ns = excluded.deleted_ns, late_ns = excluded.late_ns, swept = false;

-- name: forget_tombstones(before)!
-- Of runs that nothing has arrived of since then, and whose content was swept.
delete from run_tombstone where swept and late_ns < :before;

-- name: event_digests(project_id, runs)
select run_id, page, beside, first_seq, last_seq, sha256(body) as digest from event_page
where project_id = :project_id and run_id = any(:runs);

-- name: write_event_pages(project_id, runs, besides, pages, firsts, lasts, bodies)!
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
    page.high
from page
join event_page on event_page.project_id = :project_id and event_page.run_id = page.run_id
    and event_page.page = page.page
left join span_page on span_page.project_id = :project_id and span_page.run_id = page.run_id
    and span_page.page = page.beside
where coalesce(page.before, 0) < :how_many
order by page.first_seq;

-- name: read_pages_of_events(project_id, runs, pages)
select event_page.run_id, event_page.page, event_page.first_seq, event_page.body, span_page.body as beside
from event_page join unnest(:runs::uuid[], :pages::int[]) as given (run_id, page) using (run_id, page)
left join span_page on span_page.project_id = :project_id and span_page.run_id = event_page.run_id
    and span_page.page = event_page.beside
where event_page.project_id = :project_id;

-- name: snapshot_digests(project_id, runs)
select run_id, seq, sha256(history || body) as digest from run_snapshot
where project_id = :project_id and run_id = any(:runs);

-- name: write_snapshots(project_id, runs, seqs, histories, bodies)!
insert into run_snapshot (project_id, run_id, seq, history, body)
select :project_id, run_id, seq, history, body
from unnest(:runs::uuid[], :seqs::int[], :histories::bytea[], :bodies::bytea[]) as new (run_id, seq, history, body)
on conflict (project_id, run_id, seq) do update set history = excluded.history, body = excluded.body;

-- name: delete_snapshots(project_id, runs, seqs)!
delete from run_snapshot using unnest(:runs::uuid[], :seqs::int[]) as gone (run_id, seq)
where project_id = :project_id and run_snapshot.run_id = gone.run_id and run_snapshot.seq = gone.seq;

-- name: read_snapshot(project_id, run, seq)
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

-- name: explanation(project_id, subject, model)$
-- By this model, or by any when none is named.
select content from explanation
where project_id = :project_id and subject = :subject and (:model::text is null or model = :model)
order by model limit 1;

-- name: keep_explanation(project_id, run, subject, model, content)!
insert into explanation (project_id, run_id, subject, model, content)
select :project_id::int, :run::uuid, :subject::bytea, :model::text, :content::bytea
where exists (select from run where project_id = :project_id and run_id = :run)
on conflict (project_id, subject, model) do update set content = excluded.content, run_id = excluded.run_id;

-- name: sweep(project_id)^
select * from gc_sweep where project_id = :project_id;

-- name: sweeps_due(until)
-- Projects with a sweep under way, or with runs that were deleted (or still arrived) before then and were not swept.
select project_id from gc_sweep
union
select project_id from run_tombstone where not swept and late_ns <= :until;

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
update run_tombstone set swept = true where project_id = :project_id and late_ns <= :until;

-- name: runs_after(project_id, after, how_many)
select run_id from run where project_id = :project_id and run_id > :after order by run_id limit :how_many;

-- name: bodies_of(project_id, run)
-- All that is stored of a run and may name content; `beside`: what a body has to be read with.
select page.body, null as beside from span_page as page where page.project_id = :project_id and page.run_id = :run
union all
select page.body, beside.body
from event_page as page
left join span_page as beside
    on beside.project_id = page.project_id and beside.run_id = page.run_id and beside.page = page.beside
where page.project_id = :project_id and page.run_id = :run
union all
select body, null from run_snapshot where project_id = :project_id and run_id = :run;

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
-- What is named apart from runs: explanations, and messages of threads whose beginning has not come.
insert into gc_mark (project_id, ref)
select content, ref from (
    select project_id as content, content as ref from explanation where project_id = :project_id
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

-- name: content_sizes(project_id, refs)
select ref, octet_length(body) as bytes from content where project_id = :project_id and ref = any(:refs);

-- name: content_bodies(project_id, refs)
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

-- name: keys(project_id)
select key_id, name, prefix, scopes, digest,
    (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    (extract(epoch from expires_at) * 1000000000)::bigint as expires_ns,
    (extract(epoch from last_used) * 1000000000)::bigint as last_used_ns
from api_key where project_id = :project_id order by key_id;

-- name: insert_key(project_id, name, prefix, digest, scopes, seconds)^
insert into api_key (project_id, name, prefix, digest, scopes, expires_at)
values (:project_id, :name, :prefix, :digest, :scopes, now() + make_interval(secs => :seconds))
returning key_id, name, prefix, scopes, digest,
    (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    (extract(epoch from expires_at) * 1000000000)::bigint as expires_ns,
    null::bigint as last_used_ns;

-- name: lock_keys(project_id)!
-- Who removes a key waits for others who do: each is to see what the others left.
select from api_key where project_id = :project_id order by key_id for update;

-- name: delete_key(project_id, key)!
delete from api_key where project_id = :project_id and key_id = :key;

-- name: use_keys(project_id, keys)!
-- To the hour: a key that is used all the time is written once in it.
update api_key set last_used = date_trunc('hour', now())
where project_id = :project_id and key_id = any(:keys)
    and (last_used is null or last_used < date_trunc('hour', now()));

-- name: lock_lease(project_id, run)^
-- Whether or not it has run out. Others that want it wait until this transaction ends.
select until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns
from run_lease where project_id = :project_id and run_id = :run
for update;

-- name: take_lease(project_id, run, holder, process, seconds, attempt, force)^
-- Nothing, when another has it.
insert into run_lease as held (project_id, run_id, holder, process, attempt, since, until)
values (:project_id, :run, :holder, :process, :attempt, now(), now() + make_interval(secs => :seconds))
on conflict (project_id, run_id) do update
set holder = excluded.holder, process = excluded.process, attempt = excluded.attempt, delivered = false,
    since = excluded.since, until = excluded.until
where held.holder = excluded.holder or held.until <= now() or :force
returning until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: renew_lease(project_id, run, holder, seconds, attempt)^
-- Also one that has run out, unless another has taken it since. Nothing, when it is another's, or nobody's, or of a later
-- attempt.
update run_lease
set until = now() + make_interval(secs => :seconds), delivered = false, attempt = coalesce(:attempt, attempt)
where project_id = :project_id and run_id = :run and holder = :holder
    and (:attempt::int is null or attempt <= :attempt)
returning until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: release_lease(project_id, run, holder, attempt)!
-- Not of a later attempt.
update run_lease set until = least(until, now()), delivered = true, attempt = coalesce(:attempt, attempt)
where project_id = :project_id and run_id = :run and holder = :holder
    and (:attempt::int is null or attempt <= :attempt);

-- name: note_delivered(project_id, run, holder, process, attempt)!
-- Of a run that nobody has resumed: its process is gone, and all its records arrived.
insert into run_lease (project_id, run_id, holder, process, attempt, delivered, since, until)
values (:project_id, :run, :holder, :process, :attempt, true, now(), now())
on conflict (project_id, run_id) do nothing;

-- name: insert_takeover(project_id, run, attempt)!
insert into run_takeover (project_id, run_id, attempt, since) values (:project_id, :run, :attempt, now())
on conflict (project_id, run_id, attempt) do nothing;

-- name: forget_leases()!
-- Of processes that died a day ago, and of which no run was stored.
delete from run_lease
where until < now() - interval '1 day'
    and not exists (
        select from run where run.project_id = run_lease.project_id and run.run_id = run_lease.run_id
    );

-- name: write_llm_calls(project_id, whole, runs, seqs, threads)!
-- Model calls that had a thread as context; what is there already is not written. Of runs that are in `whole`, these are
-- all.
with given as (
    select run_id, seq, thread from unnest(:runs::uuid[], :seqs::int[], :threads::bigint[]) as each (run_id, seq, thread)
),
gone as (
    delete from llm_call
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into llm_call (project_id, run_id, seq, thread)
select :project_id, run_id, seq, thread from given
on conflict (project_id, run_id, seq) do update set thread = excluded.thread
where llm_call.thread <> excluded.thread;

-- name: calls_with_thread(project_id, thread, how_many)
-- Newest runs first.
select run_id, seq from llm_call where project_id = :project_id and thread = :thread
order by run_id desc, seq limit :how_many;

-- name: runs_with_same_context(project_id, runs, afters, uptos, without, how_many)
-- Of each other run the last call of this one that had the same context there; those that have most in common first.
-- `runs`, `afters` and `uptos` are the parts of this run's record; `without` are runs that are not looked for.
select run_id, seq, here from (
    select distinct on (other.run_id) other.run_id, other.seq, mine.seq as here
    from unnest(:runs::uuid[], :afters::int[], :uptos::int[]) as part (run_id, after, upto)
    cross join lateral (
        select seq, thread from llm_call
        where project_id = :project_id and run_id = part.run_id and seq > part.after and seq <= part.upto
        offset 0
    ) as mine
    cross join lateral (
        select run_id, seq from llm_call
        where project_id = :project_id and thread = mine.thread and run_id <> all(:without::uuid[])
        order by run_id desc, seq limit :how_many
    ) as other
    order by other.run_id, mine.seq desc, other.seq
) as found
order by here desc, run_id limit :how_many;

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
select entry, run_id, reason, created_ns, spans, logs from forward_outbox
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

-- name: find_packs(project_id, keys)
-- Packs that have something with one of these keys.
select pack, version from playhead_find_packs(:project_id, :keys::int[]);

-- name: read_packs(project_id, packs)
select pack, version, packed, encoding, keys, body from content_pack
where project_id = :project_id and pack = any(:packs::bigint[]);

-- name: note_packed_seen(project_id, refs, today)!
-- In one order, so that transactions that note the same wait for each other, never in a circle.
insert into packed_seen (project_id, ref, last_seen)
select :project_id, ref, :today from unnest(:refs::bytea[]) as given (ref) order by ref
on conflict (project_id, ref) do update set last_seen = excluded.last_seen
where packed_seen.last_seen < excluded.last_seen;

-- name: pending_of(project_id, runs)
select distinct ref from pending_ref where project_id = :project_id and run_id = any(:runs);

-- name: is_sweeping(project_id)$
select exists (select from gc_sweep where project_id = :project_id);

-- name: contents_to_pack(project_id, refs, largest)
select ref, media, encoding, role, body from content
where project_id = :project_id and ref = any(:refs) and octet_length(body) <= :largest;

-- name: nodes_to_pack(project_id, refs)
-- All nodes of these threads that are rows, with the lineage that their parents are in. `offset 0`: see find_nodes in
-- threads.sql.
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
)
select node.lineage, coalesce(node.parent_lineage, node.lineage) as parent_lineage, node.depth, node.ref, node.message,
    node.parent
from reach
cross join lateral (
    select * from thread_node
    where project_id = :project_id and lineage = reach.lineage and depth <= reach.upto offset 0
) as node;

-- name: take_contents(project_id, refs)
delete from content where project_id = :project_id and ref = any(:refs) returning ref;

-- name: take_nodes(project_id, refs)
-- What continues them, and stays a row, names them by ref from now on. `offset 0`: see find_nodes in threads.sql.
with gone as (
    delete from thread_node where project_id = :project_id and ctid = any(array(
        select node.place from unnest(:refs::bytea[]) as given (ref)
        cross join lateral (
            select ctid as place, project_id from thread_node where ref = given.ref offset 0
        ) as node
        where node.project_id = :project_id
    ))
    returning lineage, depth, ref
),
next as (
    update thread_node set parent = gone.ref
    from gone
    where thread_node.project_id = :project_id and thread_node.lineage = gone.lineage
        and thread_node.depth = gone.depth + 1 and thread_node.ref <> all(:refs)
),
forks as (
    update thread_node set parent = gone.ref, parent_lineage = null
    from gone
    where thread_node.project_id = :project_id and thread_node.parent_lineage = gone.lineage
        and thread_node.depth = gone.depth + 1 and thread_node.ref <> all(:refs)
)
select distinct ref from gone;

-- name: write_packs(project_id, runs, today, encodings, keys, bodies)!
-- Keys of each pack as the text of an array: arrays of arrays have one length.
insert into content_pack (pack, project_id, packed, encoding, keys, body, runs)
select nextval('content_pack_number'), :project_id, :today, encoding, keys::int[], body, :runs::uuid[]
from unnest(:encodings::smallint[], :keys::text[], :bodies::bytea[]) with ordinality as new (encoding, keys, body, n)
order by n;

-- name: runs_to_pack(how_many)
select project_id, run_id, times from packing_due
where not exists (select from gc_sweep where gc_sweep.project_id = packing_due.project_id) limit :how_many;

-- name: due_for_packing(project_id, runs)!
insert into packing_due (project_id, run_id) select :project_id, run_id from unnest(:runs::uuid[]) as given (run_id)
order by run_id
on conflict (project_id, run_id) do update set times = packing_due.times + 1;

-- name: are_packed(project_id, runs, times)!
-- Unless something arrived meanwhile.
delete from packing_due using unnest(:runs::uuid[], :times::int[]) as known (run_id, times)
where project_id = :project_id and packing_due.run_id = known.run_id and packing_due.times = known.times;

-- name: young_packs(project_id, after, cutoff, how_many)
select pack from content_pack
where project_id = :project_id and pack > :after and packed >= :cutoff order by pack limit :how_many;

-- name: mark_packed_seen(project_id, cutoff)!
with old as (delete from packed_seen where project_id = :project_id and last_seen < :cutoff)
insert into gc_mark (project_id, ref)
select project_id, ref from packed_seen where project_id = :project_id and last_seen >= :cutoff
on conflict (project_id, ref) do nothing;

-- name: old_packs(project_id, before, cutoff, how_many)
-- The latest first: what is in a pack is named by later ones.
select pack from content_pack
where project_id = :project_id and (:before < 0 or pack < :before) and packed < :cutoff
order by pack desc limit :how_many;

-- name: marked(project_id, refs)
select ref from gc_mark where project_id = :project_id and ref = any(:refs);

-- name: delete_packs(project_id, packs)!
delete from content_pack where project_id = :project_id and pack = any(:packs::bigint[]);

-- name: rewrite_pack(project_id, pack, encoding, keys, body)!
update content_pack set version = version + 1, encoding = :encoding, keys = :keys::text::int[], body = :body
where project_id = :project_id and pack = :pack;

-- name: waste(enough)
-- Tables that runs pass through, with their bytes and rows; of many rows only that they are many.
select 'content' as name, pg_total_relation_size('content') as bytes,
    (select count(*) from (select from content limit :enough) as counted) as rows
union all
select 'thread_node', pg_total_relation_size('thread_node'),
    (select count(*) from (select from thread_node limit :enough) as counted);

-- name: open_promise(project_id, promise, kind, run, body, seconds)!
-- Nothing, when it is there already.
insert into promise (created, deadline, project_id, run_id, promise_id, kind, body)
values (now(), now() + make_interval(secs => :seconds), :project_id, :run, :promise, :kind, :body)
on conflict do nothing;

-- name: answer_promise(project_id, promise, answer, is_late)^
-- Nothing, when it has an answer, or its deadline has passed; `is_late`: an answer that says so.
update promise set answered = clock_timestamp(), answer = :answer
where project_id = :project_id and promise_id = :promise and answered is null
    and (:is_late or deadline is null or deadline > now())
returning promise_id;

-- name: promise(project_id, promise)^
select promise_id, kind, run_id, body, answer,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns
from promise where project_id = :project_id and promise_id = :promise;

-- name: promises(project_id, kind, run, open, after_ns, after_promise, most)
-- Oldest first, after this one.
select promise_id, kind, run_id, body, answer,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns
from promise
where project_id = :project_id and (:kind::text is null or kind = :kind::text)
    and (:run::uuid is null or run_id = :run::uuid)
    and (:open::boolean is null or (answered is null) = :open::boolean)
    and ((extract(epoch from created) * 1000000000)::bigint, promise_id) > (:after_ns::bigint, :after_promise::text)
order by created, promise_id limit :most;

-- name: forget_promises(project_id, seconds)!
-- Answered so long ago.
delete from promise where project_id = :project_id and answered < now() - make_interval(secs => :seconds);

-- name: take_announcement(project_id, now, until, max_age)^
-- An open promise that is to be announced now; nobody else takes it until then.  Requests to stop ask nobody.
update promise set announce_due = :until, announce_attempts = announce_attempts + 1
where project_id = :project_id and promise_id = (
    select promise_id from promise
    where project_id = :project_id and answered is null and announce_due <= :now and kind <> 'interrupt'
        and created > to_timestamp(:now::bigint / 1e9) - make_interval(secs => :max_age)
        and (deadline is null or deadline > now())
    order by announce_due, created limit 1 for update skip locked
)
returning promise_id, kind, run_id, body, answer, announce_attempts,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns;

-- name: drop_announcements(project_id, now, max_age)
-- Those that `take_announcement` finds no more: too old, or past their deadline.
update promise set announce_due = null
where project_id = :project_id and promise_id in (
    select promise_id from promise
    where project_id = :project_id and answered is null and announce_due <= :now and kind <> 'interrupt'
        and (created <= to_timestamp(:now::bigint / 1e9) - make_interval(secs => :max_age) or deadline <= now())
    order by announce_due limit 100 for update skip locked
)
returning promise_id;

-- name: settle_announcement(project_id, promise, due)!
-- Due again then; null: not any more.
update promise set announce_due = :due where project_id = :project_id and promise_id = :promise;

-- name: write_runs(project_id, rows)!
-- Summaries of runs that are there, as JSON.
update run set
    started_ns = new.started_ns, ended_ns = new.ended_ns, input_tokens = new.input_tokens,
    output_tokens = new.output_tokens, attempt = new.attempt, events = new.events, llm_calls = new.llm_calls,
    tool_calls = new.tool_calls, errors = new.errors, context_peak = new.context_peak,
    compressions = new.compressions, spans_missing = new.spans_missing, content_pending = new.content_pending,
    fork_at = new.fork_at, shared = new.shared, sealed = new.sealed, settled = new.settled,
    projection = new.projection, shared_run = new.shared_run, fork_of = new.fork_of, name = new.name,
    status = new.status, session = new.session, "user" = new."user", labels = new.labels, search = new.search,
    usage = new.usage, continued_by = new.continued_by, processes = new.processes,
    process_count = new.process_count, processes_open = new.processes_open, lost_ns = null, searched = false
from jsonb_to_recordset(:rows::jsonb) as new (
    run_id uuid, started_ns bigint, ended_ns bigint, input_tokens bigint, output_tokens bigint, attempt int, events int,
    llm_calls int, tool_calls int, errors int, context_peak int, compressions int, spans_missing int,
    content_pending int, fork_at int, shared int, sealed boolean, settled boolean, projection bigint, shared_run uuid,
    fork_of text, name text, status text, session text, "user" text, labels text[], search text, usage jsonb,
    continued_by text[], processes jsonb, process_count int, processes_open int
)
where run.project_id = :project_id and run.run_id = new.run_id;

-- name: new_projections(how_many)
select nextval('run_projection') from generate_series(1, :how_many::int);

-- name: runs(project_id, runs)
-- Newest first. `parent_missing`: a run above this fork is not here.
select *, case when fork_of is null then false else (
    with recursive above (run_id, fork_of) as (
        select run.shared_run, run.fork_of
        union
        select parent.shared_run, parent.fork_of
        from above join run as parent on parent.project_id = run.project_id and parent.run_id = above.run_id
    )
    select bool_or(above.fork_of is not null and not exists (
        select from run as there where there.project_id = run.project_id and there.run_id = above.run_id
    )) from above
) end as parent_missing,
    (select count(*) from run as fork where fork.project_id = run.project_id
        and fork.labels @> array['fork_of:' || replace(run.run_id::text, '-', '')])::int as forks
from run
where project_id = :project_id and run_id = any(:runs::uuid[])
order by started_ns desc, run_id desc;

-- name: run_ids(project_id, search, id_part, since, until, before_started, before_run, how_many)
-- Newest first. `search` and `id_part` may be empty; the run that `before_*` names is not among them. It reads nothing but
-- the index `run_started`.
select run_id from run
where project_id = :project_id and started_ns >= :since and started_ns <= :until
    and (started_ns, run_id) < (:before_started, :before_run::uuid)
    and (:search = '' or strpos(search, :search) > 0)
    and (:id_part = '' or strpos(replace(run_id::text, '-', ''), :id_part) > 0)
order by started_ns desc, run_id desc limit :how_many;

-- name: newest_run_ids(project_id, labels, search, id_part, since, until, before_started, before_run, looked, how_many)
-- Of the newest `looked` runs, those with these labels.
select run_id from (
    select started_ns, run_id, labels, search from run
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
    order by started_ns desc, run_id desc limit :looked
) as newest
where labels @> :labels::text[] and (:search = '' or strpos(search, :search) > 0)
    and (:id_part = '' or strpos(replace(run_id::text, '-', ''), :id_part) > 0)
order by started_ns desc, run_id desc limit :how_many;

-- name: run_ids_with(project_id, labels, search, id_part, since, until, before_started, before_run, how_many)
-- All runs with these labels. `materialized`, so that it is planned to find all, and not as if the first few were met
-- soon: Postgres does not know how labels occur together.
with found as materialized (
    select started_ns, run_id from run
    where labels @> :labels::text[] and project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
        and (:search = '' or strpos(search, :search) > 0)
        and (:id_part = '' or strpos(replace(run_id::text, '-', ''), :id_part) > 0)
)
select run_id from found order by started_ns desc, run_id desc limit :how_many;

-- name: run_ids_scored(project_id, labels, search, id_part, since, until, before_started, before_run, how_many, score_name, score_low, score_high, score_label)
-- `score_*`: what the latest score of the whole run with this name has to be.
with scored as materialized (
    select run_id from score_in_time
    where project_id = :project_id and name = :score_name and span is null and is_latest
        and (:score_low::double precision is null or number >= :score_low)
        and (:score_high::double precision is null or number <= :score_high)
        and (:score_label::text is null or label = :score_label)
),
found as materialized (
    select run.started_ns, run.run_id
    from scored join run on run.project_id = :project_id and run.run_id = scored.run_id
    where run.labels @> :labels::text[] and run.started_ns >= :since and run.started_ns <= :until
        and (run.started_ns, run.run_id) < (:before_started, :before_run::uuid)
        and (:search = '' or strpos(run.search, :search) > 0)
        and (:id_part = '' or strpos(replace(run.run_id::text, '-', ''), :id_part) > 0)
)
select run_id from found order by started_ns desc, run_id desc limit :how_many;

-- name: sizes()
-- Bytes of each table with its indexes; rows as the planner estimates them, so that asking costs nothing however many.
select relname as name, pg_total_relation_size(oid) as bytes, greatest(reltuples, 0)::bigint as rows
from pg_class
where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'alembic_version';

-- name: ready()$
-- Fails when there is no schema, too.
select count(*) from project;

-- name: add_score(project_id, run, score_id, scored_ns, name, number, is_boolean, label, span, source, author, api_key, comment)^
-- Nothing when there is no such run, or when it has a score with this id.
insert into score (
    project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, author, api_key, comment
)
select :project_id, run_id, :score_id,
    coalesce(:scored_ns::bigint, (extract(epoch from clock_timestamp()) * 1000000000)::bigint), :name,
    :number::double precision, :is_boolean, :label, :span, :source, :author, :api_key, :comment
from run where project_id = :project_id and run_id = :run
on conflict (project_id, run_id, score_id) do nothing
returning score_id;

-- name: score(project_id, run, score_id)^
select * from score_in_time where project_id = :project_id and run_id = :run and score_id = :score_id;

-- name: posted_scores(project_id, run)
select * from score_in_time where project_id = :project_id and run_id = :run and source = 'api';

-- name: scores(project_id, run, name, source, latest, since, until, before_ns, before_run, before_id, how_many)
-- Newest first; the row that `before_*` names is not among them.
select * from score_in_time
where project_id = :project_id and (:run::uuid is null or run_id = :run) and (:name::text is null or name = :name)
    and (:source::text is null or source = :source) and scored_ns >= :since and scored_ns <= :until
    and (scored_ns, run_id, score_id) < (:before_ns, :before_run::uuid, :before_id) and (is_latest or not :latest)
order by scored_ns desc, run_id desc, score_id desc limit :how_many;

-- name: write_recorded_scores(project_id, rows)!
-- Scores of events, as JSON.
insert into score (
    project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, comment, explanation
)
select :project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, comment,
    decode(explanation, 'hex')
from jsonb_to_recordset(:rows::jsonb) as new (
    run_id uuid, score_id text, scored_ns bigint, name text, number double precision, is_boolean boolean, label text,
    span text, source text, comment text, explanation text
)
on conflict (project_id, run_id, score_id) do update
set scored_ns = excluded.scored_ns, name = excluded.name, number = excluded.number, is_boolean = excluded.is_boolean,
    label = excluded.label, span = excluded.span, source = excluded.source, comment = excluded.comment,
    explanation = excluded.explanation;

-- name: has_search_language(language)$
select exists (select from pg_ts_config where pg_ts_config_is_visible(oid) and cfgname = :language);

-- name: lock_search_language(project_id)^
select search_language from project where project_id = :project_id for update;

-- name: set_search_language(project_id, language)!
update project set search_language = :language where project_id = :project_id;

-- name: clear_search(project_id)!
with runs as (delete from search_run where project_id = :project_id),
texts as (delete from search_text where project_id = :project_id)
update run set searched = false where project_id = :project_id and searched;

-- name: unindexed_runs(how_many)
select project_id, run_id from run where sealed and not searched limit :how_many;

-- name: count_unindexed(project_id, how_many)$
select count(*) from (
    select from run where project_id = :project_id and sealed and not searched limit :how_many
) as unindexed;

-- name: indexed_texts(project_id, refs)
select ref from search_text
where project_id = :project_id and key = any(array(select playhead_key(ref) from unnest(:refs::bytea[]) as given (ref)))
    and ref = any(:refs);

-- name: mark_searched(project_id, run)$
-- Whether the run is there, and sealed. Its row stays locked: it is neither projected nor deleted meanwhile.
update run set searched = true where project_id = :project_id and run_id = :run and sealed returning true;

-- name: index_run(project_id, run, started, terms, seen, body)!
insert into search_run (project_id, run_id, started_ns, terms, seen, body)
values (:project_id, :run, :started, :terms, :seen, :body)
on conflict (project_id, run_id) do update
set started_ns = excluded.started_ns, terms = excluded.terms, seen = excluded.seen, body = excluded.body;

-- name: index_texts(project_id, language, since, refs, roles, texts)!
-- In one order, so that transactions with the same texts wait for each other, never in a circle.
insert into search_text (since_ns, project_id, key, role, ref, words)
select :since, :project_id, playhead_key(ref), role, ref, to_tsvector(:language::text::regconfig, text)
from unnest(:refs::bytea[], :roles::smallint[], :texts::text[]) as given (ref, role, text)
order by ref
on conflict (project_id, key, ref) do nothing;

-- name: set_returned_errors(project_id, run, seqs, outcomes)!
-- Of calls that returned: completed (1), or with a result that reports an error (4).
update tool_call set outcome = given.outcome
from unnest(:seqs::int[], :outcomes::smallint[]) as given (seq, outcome)
where tool_call.project_id = :project_id and tool_call.run_id = :run and tool_call.seq = given.seq
    and tool_call.outcome in (1, 4) and tool_call.outcome <> given.outcome;

-- name: forget_searched_runs(project_id, runs)!
-- With the texts that no other run has.
with gone as (
    delete from search_run where project_id = :project_id and run_id = any(:runs) returning seen
),
keys as (
    select distinct key from gone cross join lateral unnest(gone.seen) as each (key)
)
delete from search_text using keys
where search_text.project_id = :project_id and search_text.key = keys.key
    and not exists (
        select from search_run
        where project_id = :project_id and seen @> array[keys.key] and run_id <> all(:runs::uuid[])
    );

-- name: forget_searched_texts(project_id, refs)!
delete from search_text
where project_id = :project_id and key = any(array(select playhead_key(ref) from unnest(:refs::bytea[]) as given (ref)))
    and ref = any(:refs);

-- name: newest_indexed(project_id, terms, since, until, before_started, before_run, looked, how_many)
select run_id, started_ns, body from (
    select * from search_run
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
    order by started_ns desc, run_id desc limit :looked
) as newest
where terms @> :terms::int[]
order by started_ns desc, run_id desc limit :how_many;

-- name: indexed_with(project_id, terms, since, until, before_started, before_run, how_many)
-- `materialized`, so that it is planned to find all, and not as if the first few were met soon.
with found as materialized (
    select started_ns, run_id from search_run
    where terms @> :terms::int[] and project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
),
page as (
    select * from found order by started_ns desc, run_id desc limit :how_many
)
select page.run_id, page.started_ns, search_run.body
from page cross join lateral (
    select body from search_run where project_id = :project_id and run_id = page.run_id offset 0
) as search_run
order by page.started_ns desc, page.run_id desc;

-- name: runs_that_saw(project_id, keys, how_many)
select given.key, run.run_id, run.started_ns, run.body
from unnest(:keys::int[]) as given (key)
cross join lateral (
    with found as materialized (
        select run_id, started_ns, body from search_run where seen @> array[given.key] and project_id = :project_id
    )
    select * from found limit :how_many
) as run;

-- name: parsed_words(language, query)^
-- `needed` is what an index can look for: 'T' or nothing where any text may fit.
select query::text as words, querytree(query) as needed
from websearch_to_tsquery(:language::text::regconfig, :query) as query;

-- name: newest_texts(project_id, words, role, since, until, before_since, before_ref, looked, how_many)
-- `words` is a parsed query: parsing it here would be done again for each row that is looked through.
select ref, since_ns, role from (
    select * from search_text
    where project_id = :project_id and since_ns >= :since and since_ns <= :until
        and (since_ns, ref) < (:before_since, :before_ref::bytea)
    order by since_ns desc, ref desc limit :looked
) as newest
where words @@ :words::text::tsquery
    and (:role::smallint is null or role = :role)
order by since_ns desc, ref desc limit :how_many;

-- name: texts_with(project_id, words, role, since, until, before_since, before_ref, how_many)
with found as materialized (
    select ref, since_ns, role from search_text
    where words @@ :words::text::tsquery
        and project_id = :project_id and since_ns >= :since and since_ns <= :until
        and (since_ns, ref) < (:before_since, :before_ref::bytea)
        and (:role::smallint is null or role = :role)
)
select ref, since_ns, role from found order by since_ns desc, ref desc limit :how_many;

-- name: searched_text(project_id, ref)
select ref, since_ns, role from search_text
where project_id = :project_id and key = playhead_key(:ref::bytea) and ref = :ref::bytea;

-- name: marked_words(language, words, texts, options)
select ts_headline(:language::text::regconfig, text, :words::text::tsquery, :options) as marked
from unnest(:texts::text[]) with ordinality as given (text, n)
order by n;

-- name: write_tool_calls(project_id, whole, runs, seqs, times, tools, agents, outcomes, calls)!
-- Tool calls of runs; what is there already is not written. Of runs that are in `whole`, these are all.
with given as (
    select run_id, seq, time_ns, tool, agent, outcome, call
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :tools::int[], :agents::int[], :outcomes::smallint[],
        :calls::bigint[]
    ) as each (run_id, seq, time_ns, tool, agent, outcome, call)
),
gone as (
    delete from tool_call
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into tool_call (project_id, run_id, seq, time_ns, tool, agent, outcome, call)
select :project_id, run_id, seq, time_ns, tool, agent, outcome, call from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, tool = excluded.tool, agent = excluded.agent, outcome = excluded.outcome,
    call = excluded.call
where (tool_call.time_ns, tool_call.tool, tool_call.agent, tool_call.outcome, tool_call.call)
    is distinct from (excluded.time_ns, excluded.tool, excluded.agent, excluded.outcome, excluded.call);

-- name: end_tool_calls(project_id, runs, calls, outcomes)!
-- Calls of these spans ended, that were open when they were written.
update tool_call set outcome = ended.outcome, call = null
from unnest(:runs::uuid[], :calls::bigint[], :outcomes::smallint[]) as ended (run_id, call, outcome)
where tool_call.project_id = :project_id and tool_call.run_id = ended.run_id and tool_call.call = ended.call;

-- name: write_decisions(project_id, whole, runs, seqs, times, kinds, agents, abouts, outcomes)!
with given as (
    select run_id, seq, time_ns, kind, agent, about, outcome
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :kinds::smallint[], :agents::int[], :abouts::int[],
        :outcomes::smallint[]
    ) as each (run_id, seq, time_ns, kind, agent, about, outcome)
),
gone as (
    delete from decision
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into decision (project_id, run_id, seq, time_ns, kind, agent, about, outcome)
select :project_id, run_id, seq, time_ns, kind, agent, about, outcome from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, kind = excluded.kind, agent = excluded.agent, about = excluded.about,
    outcome = excluded.outcome
where (decision.time_ns, decision.kind, decision.agent, decision.about, decision.outcome)
    is distinct from (excluded.time_ns, excluded.kind, excluded.agent, excluded.about, excluded.outcome);

-- name: write_errors(project_id, whole, runs, seqs, times, kinds, types, agents, abouts)!
with given as (
    select run_id, seq, time_ns, kind, error_type, agent, about
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :kinds::smallint[], :types::int[], :agents::int[],
        :abouts::int[]
    ) as each (run_id, seq, time_ns, kind, error_type, agent, about)
),
gone as (
    delete from error
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into error (project_id, run_id, seq, time_ns, kind, error_type, agent, about)
select :project_id, run_id, seq, time_ns, kind, error_type, agent, about from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, kind = excluded.kind, error_type = excluded.error_type, agent = excluded.agent,
    about = excluded.about
where (error.time_ns, error.kind, error.error_type, error.agent, error.about)
    is distinct from (excluded.time_ns, excluded.kind, excluded.error_type, excluded.agent, excluded.about);

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
    select run_id, labels, shared from run where project_id = :project_id and labels && :forks::text[]
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

-- name: insert_pages(project_id, runs, digests, items, bodies, told, started, names, searches, owns, labels)
-- Returns the pages that are news. Their runs (all are in `told`) are listed from the first span on; the projector says
-- the rest. In the order of run ids, so that transactions that list the same runs wait for each other, never in a circle.
with fresh as (
    insert into span_page (project_id, run_id, digest, items, body)
    select :project_id, run_id, digest, items, body
    from unnest(:runs::uuid[], :digests::uuid[], :items::int[], :bodies::bytea[]) as given (run_id, digest, items, body)
    on conflict (project_id, run_id, digest) do nothing
    returning run_id, digest
),
listed as (
    insert into run (project_id, run_id, started_ns, name, search, is_own, status, labels)
    select :project_id, run_id, started_ns, name, search, is_own, 'running', :labels
    from unnest(:told::uuid[], :started::bigint[], :names::text[], :searches::text[], :owns::boolean[])
        as given (run_id, started_ns, name, search, is_own)
    where run_id in (select run_id from fresh)
    order by run_id
    on conflict (project_id, run_id) do nothing
)
select run_id, digest from fresh;

-- name: mark_news(project_id, runs, arrived, own, now)!
-- These runs have news: spans (`arrived` says when), or content that they waited for (0). `own`: when the run's own process
-- has sent some of them; 0: it has not. In one order for all, and the
-- last that a transaction locks: whoever projects a run settles what it waits for before it forgets the news, too.
insert into run_news (project_id, run_id, arrived_ns, own_arrived_ns, dirty_since_ns, news)
select :project_id::int, run_id, arrived_ns, own_ns, :now::bigint, 1
from unnest(:runs::uuid[], :arrived::bigint[], :own::bigint[]) as given (run_id, arrived_ns, own_ns) order by run_id
on conflict (project_id, run_id) do update
set arrived_ns = greatest(run_news.arrived_ns, excluded.arrived_ns),
    own_arrived_ns = greatest(run_news.own_arrived_ns, excluded.own_arrived_ns),
    dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns),
    news = run_news.news + 1;

-- name: delete_pages(project_id, runs, pages)!
delete from span_page where project_id = :project_id and run_id = any(:runs) and page = any(:pages);

-- name: write_pages(project_id, runs, digests, items, bodies)
-- In place of pages that were deleted, under numbers of their own: whoever keeps the numbers of pages that it has read
-- would take these for them.
insert into span_page (project_id, run_id, digest, items, body)
select :project_id, run_id, digest, items, body
from unnest(:runs::uuid[], :digests::uuid[], :items::int[], :bodies::bytea[]) as new (run_id, digest, items, body)
on conflict (project_id, run_id, digest) do nothing
returning run_id, page, items;

-- name: read_these_pages(project_id, run, pages)
select page, body from span_page
where project_id = :project_id and run_id = :run and page = any(:pages::bigint[]) order by page;

-- name: read_pages_after(project_id, run, after, how_many)
-- The next pages of a run, to read all of them without holding all of them.
select page, body from span_page
where project_id = :project_id and run_id = :run and page > :after order by page limit :how_many;

-- name: read_pages(project_id, runs, seen)
-- All pages of these runs, but for those with these numbers.
select run_id, page, body from span_page
where project_id = :project_id and run_id = any(:runs) and page <> all(:seen::bigint[]) order by page;

-- name: wake(project_id, runs, now)!
-- Content came that these runs waited for: they are to be projected again.
insert into run_news (project_id, run_id, arrived_ns, dirty_since_ns, news)
select :project_id, run_id, :now, :now, 1 from unnest(:runs::uuid[]) as given (run_id) order by run_id
on conflict (project_id, run_id) do update
set dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns), news = run_news.news + 1;

-- name: insert_pending(project_id, runs, refs)!
insert into pending_ref (project_id, run_id, ref)
select :project_id, run_id, ref from unnest(:runs::uuid[], :refs::bytea[]) as new (run_id, ref)
on conflict do nothing;

-- name: take_pending(project_id, refs)
-- Runs that waited for content which is here now.
delete from pending_ref where project_id = :project_id and ref = any(:refs) returning run_id;

-- name: settle_pending(project_id, runs, packed)
-- Forgets what came after all (a transaction that stored it may not have seen that anybody waited), in rows or `packed`;
-- counts the rest. What
-- another transaction takes away now is left to it: it tells these runs' news. `offset 0`: see find_nodes in threads.sql.
with waiting as materialized (
    select run_id, ref from pending_ref where project_id = :project_id and run_id = any(:runs) for update skip locked
),
came as (
    delete from pending_ref as gone using waiting
    where gone.project_id = :project_id and gone.run_id = waiting.run_id and gone.ref = waiting.ref and (
        gone.ref = any(:packed)
        or exists (select from content where content.project_id = :project_id and content.ref = gone.ref offset 0)
        or exists (
            select from (select project_id from thread_node where ref = gone.ref offset 0) as node
            where node.project_id = :project_id
            offset 0
        )
    )
    returning gone.run_id
),
left_over as (
    select run_id, 1 as how_many from pending_ref where project_id = :project_id and run_id = any(:runs)
    union all
    select run_id, -1 from came
)
select run_id, sum(how_many)::int as pending from left_over group by run_id;

-- name: lock_to_project(project_id, runs)
-- Waits for whoever projects these now.
select run.run_id, run.sealed, run.shared, run.projection, run_news.news, run_news.arrived_ns
from run join run_news using (project_id, run_id)
where project_id = :project_id and run_id = any(:runs) order by run_id for update of run;

-- name: lock_free_to_project(project_id, runs)
-- Passes over those that somebody else projects now.
select run.run_id, run.sealed, run.shared, run.projection, run_news.news, run_news.arrived_ns
from run join run_news using (project_id, run_id)
where project_id = :project_id and run_id = any(:runs) order by run_id for update of run skip locked;

-- name: news(project_id, run)^
select news, arrived_ns, own_arrived_ns, dirty_since_ns is not null as dirty from run_news
where project_id = :project_id and run_id = :run;

-- name: forget_news(project_id, runs, news)!
-- Unless there was more meanwhile.
update run_news set dirty_since_ns = null
from unnest(:runs::uuid[], :news::int[]) as known (run_id, news)
where run_news.project_id = :project_id and run_news.run_id = known.run_id and run_news.news = known.news;

-- name: dirty_runs(how_many)
-- `bytes`: how much is stored of its spans, compressed.
select project_id, run_id, (
    select coalesce(sum(octet_length(body)), 0)::bigint from span_page as page
    where page.project_id = dirty.project_id and page.run_id = dirty.run_id
) as bytes
from (
    select project_id, run_id, dirty_since_ns from run_news
    where dirty_since_ns is not null order by dirty_since_ns limit :how_many
) as dirty
order by dirty_since_ns;

-- name: seal_runs(quiet_since, how_many)
-- Runs of which nothing is left to do but this, and to pack what they name. In the order of run ids, passing over those
-- that somebody projects now.
with now_sealed as (
update run set sealed = true
from (
    select run.project_id, run.run_id from run join run_news using (project_id, run_id)
    where not run.sealed and run.ended_ns is not null and run.settled
        and run_news.dirty_since_ns is null and run_news.arrived_ns <= :quiet_since
    limit :how_many
    for update of run skip locked
) as quiet
where run.project_id = quiet.project_id and run.run_id = quiet.run_id and not run.sealed
returning run.project_id, run.run_id
),
due as (
    insert into packing_due (project_id, run_id) select project_id, run_id from now_sealed order by run_id
    on conflict (project_id, run_id) do update set times = packing_due.times + 1
)
select project_id, run_id from now_sealed;

-- name: sealable_runs(quiet_since, lost_since, how_many)
-- `lost_since`: for runs of which another process has an open call.
select run.project_id, run.run_id from run join run_news using (project_id, run_id)
where not run.sealed and run.ended_ns is not null and not run.settled
    and (run.fork_of is null or exists (
        select from run as parent
        where parent.project_id = run.project_id and parent.run_id = run.shared_run and parent.sealed
    ))
    and run_news.dirty_since_ns is null and run_news.arrived_ns <= :quiet_since
    and (run.processes_open = 0 or run_news.arrived_ns <= :lost_since)
order by run_news.arrived_ns limit :how_many;

-- name: mark_lost(own_before, foreign_before, how_many)
-- Runs that go on as far as their records say, and from which nothing will come: the last record arrived too long ago, or
-- the lease of the process that ran them ran out afterwards. A run that waits for an answer is not lost, nor is one whose
-- lease is held. Times in ns. Passes over runs that somebody projects now.
with silent as (
    select run.project_id, run.run_id, run_news.arrived_ns
    from run join run_news using (project_id, run_id)
    left join run_lease as lease using (project_id, run_id)
    where run.labels @> array['status:running'] and run_news.dirty_since_ns is null
        and (
            run_news.arrived_ns <= case when run.is_own then :own_before::bigint else :foreign_before::bigint end
            or to_timestamp(run_news.arrived_ns / 1e9) <= lease.until
        )
        and (lease.until is null or lease.until <= now())
        and not exists (
            select from promise
            where promise.project_id = run.project_id and promise.run_id = run.run_id and promise.kind <> 'interrupt'
                and coalesce(promise.answered, promise.deadline, 'infinity') > to_timestamp(:own_before::bigint / 1e9)
        )
    order by run_news.arrived_ns limit :how_many
    for update of run skip locked
)
update run
set status = 'lost', lost_ns = silent.arrived_ns, labels = array_replace(run.labels, 'status:running', 'status:lost')
from silent
where run.project_id = silent.project_id and run.run_id = silent.run_id
returning run.project_id, run.run_id;

-- name: table_sizes(project_id)
-- Rows as Postgres counts them while it writes; after a crash it has only what the planner knows.
-- The share of a project is that of its number among the most common ones; with one project there is no question, and
-- of a table without rows (whose files are not empty) nobody has a share.
select c.relname::text as name,
    case when s.n_live_tup > 0 then s.n_live_tup else greatest(c.reltuples, 0) end::bigint as rows,
    pg_table_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes,
    case
        when (select count(*) from project) = 1 then 1
        when c.reltuples = 0 and coalesce(s.n_live_tup, 0) = 0 then 0
        else stats.most_common_freqs[array_position(stats.most_common_vals::text::int[], :project_id::int)]
    end::double precision as share
from pg_class c
left join pg_stat_user_tables s on s.relid = c.oid
left join pg_stats as stats
    on stats.schemaname = current_schema() and stats.tablename = c.relname and stats.attname = 'project_id'
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
order by c.relname;

-- name: first_content_sizes(project_id, how_many)
-- In the order of their hashes, which has nothing to do with their size. Of a large body only the header is read.
select encoding, octet_length(body) as stored, substring(body from 1 for 14) as head
from content where project_id = :project_id order by ref limit :how_many;

-- name: plain_content_sizes(project_id, refs)
select ref, encoding, octet_length(body) as stored, substring(body from 1 for 14) as head
from content where project_id = :project_id and ref = any(:refs);

-- name: first_packs(project_id, how_many)
select pack from content_pack where project_id = :project_id order by pack limit :how_many;

-- name: last_pack(project_id)$
select pack from content_pack where project_id = :project_id order by pack desc limit 1;

-- name: packs_from(project_id, probes)
-- For each of these numbers, the first pack from there on.
select distinct found.pack
from unnest(:probes::bigint[]) as given (pack)
cross join lateral (
    select pack from content_pack where project_id = :project_id and pack >= given.pack order by pack limit 1
) as found;

-- name: first_runs(project_id, how_many)
select run_id, llm_calls, events from run where project_id = :project_id order by run_id limit :how_many;

-- name: last_run(project_id)$
select run_id from run where project_id = :project_id order by run_id desc limit 1;

-- name: runs_from(project_id, probes)
-- For each of these ids, the first run from there on.
select distinct found.run_id, found.llm_calls, found.events
from unnest(:probes::uuid[]) as given (run_id)
cross join lateral (
    select run_id, llm_calls, events from run
    where project_id = :project_id and run_id >= given.run_id order by run_id limit 1
) as found;

-- name: find_nodes(project_id, refs)
-- Where these stand, and how deep their lineages go.
-- `offset 0` keeps the planner to one index look-up for each ref. On a table that grew just now, and of which it has no
-- statistics yet, it would rather read all nodes of the project.
with found as materialized (
    select node.ref, node.lineage, node.depth
    from (select distinct unnest(:refs::bytea[]) as ref) as given
    cross join lateral (
        select ref, project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
),
reach as (
    select lineage, (
        select max(depth) from thread_node
        where thread_node.project_id = :project_id and thread_node.lineage = known.lineage
    ) as tip
    from (select distinct lineage from found) as known
)
select ref, lineage, depth, tip from found join reach using (lineage);

-- name: new_lineages()$
-- The first of a thousand numbers.
select nextval('thread_lineage');

-- name: insert_nodes(project_id, today, lineages, parent_lineages, parents, depths, refs, messages)^
-- How many were inserted: fewer than given when another transaction took a place. And whether any extension of the
-- project waits for its parent, or any run for anything.
with new as (
    insert into thread_node (project_id, last_seen, lineage, parent_lineage, parent, depth, ref, message)
    select :project_id, :today, lineage, parent_lineage, parent, depth, ref, message
    from unnest(
        :lineages::bigint[], :parent_lineages::bigint[], :parents::bytea[], :depths::int[], :refs::bytea[],
        :messages::bytea[]
    ) as given (lineage, parent_lineage, parent, depth, ref, message)
    order by lineage, depth
    on conflict (project_id, lineage, depth) do nothing
    returning depth
)
select count(*) as inserted,
    exists (select from thread_orphan where project_id = :project_id) as orphans,
    exists (select from pending_ref where project_id = :project_id) as awaited
from new;

-- name: insert_orphans(project_id, today, parents, tips, messages)!
insert into thread_orphan (project_id, kept_since, parent, tip, messages)
select :project_id, :today, parent, tip, messages
from unnest(:parents::bytea[], :tips::bytea[], :messages::bytea[]) as new (parent, tip, messages)
on conflict do nothing;

-- name: take_orphans(project_id)
-- Extensions whose parent has come.
delete from thread_orphan as orphan
where project_id = :project_id and exists (
    select from thread_node as node where node.project_id = orphan.project_id and node.ref = orphan.parent
    union all
    select from content_pack as pack
    where pack.keys @> array[playhead_key(orphan.parent)] and pack.project_id = orphan.project_id
)
returning parent, messages;

-- name: has_orphans(project_id)$
-- Whether extensions are kept whose parent has come.
select exists (
    select from thread_orphan as orphan
    cross join lateral (select project_id from thread_node where ref = orphan.parent offset 0) as node
    where orphan.project_id = :project_id and node.project_id = :project_id
    union all
    select from thread_orphan as orphan
    join content_pack as pack on pack.keys @> array[playhead_key(orphan.parent)] and pack.project_id = :project_id
    where orphan.project_id = :project_id
);

-- name: read_thread(project_id, ref)
-- The nodes of one thread that are rows, from first to last: one range scan for each lineage that it runs through. What
-- stands before the first has its ref as `parent`, and is packed. `offset 0`: see find_nodes.
with recursive path (lineage, upto) as (
    (
        select lineage, depth from (select * from thread_node where ref = :ref offset 0) as tip
        where project_id = :project_id limit 1
    )
    union all
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
)
select node.ref, node.message, node.parent, node.depth
from path cross join lateral (
    select ref, message, parent, depth from thread_node
    where project_id = :project_id and lineage = path.lineage and depth <= path.upto
    offset 0
) as node
order by node.depth;

-- name: read_threads(project_id, owners, refs, known_owners, known_lineages, known_depths)
-- For each reader all nodes of many threads, each once, with where it and its parent stand and the role of its message;
-- but not those that the reader knows: of a lineage, up to a depth. `parent` is given where it may not be among the rows.
-- `offset 0`: see find_nodes.
with recursive known as materialized (
    select owner, lineage, depth
    from unnest(:known_owners::int[], :known_lineages::bigint[], :known_depths::int[]) as each (owner, lineage, depth)
),
path (owner, lineage, upto) as (
    select given.owner, node.lineage, max(node.depth)
    from unnest(:owners::int[], :refs::bytea[]) as given (owner, ref)
    cross join lateral (
        select project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
    group by given.owner, node.lineage
    union
    select path.owner, first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
        and not exists (select from known where known.owner = path.owner and known.lineage = path.lineage)
),
reach as (
    select path.owner, path.lineage, max(upto) as upto, coalesce(max(known.depth), 0) as known
    from path left join known on known.owner = path.owner and known.lineage = path.lineage
    group by path.owner, path.lineage
)
select reach.owner, node.lineage, coalesce(node.parent_lineage, node.lineage) as parent_lineage, node.depth, node.ref,
    node.message, content.role, coalesce(parent.ref, node.parent) as parent, node.parent as packed_parent
from reach
cross join lateral (
    select * from thread_node
    where project_id = :project_id and lineage = reach.lineage and depth > reach.known and depth <= reach.upto
    offset 0
) as node
left join lateral (
    select role from content where project_id = :project_id and ref = node.message offset 0
) as content on true
left join lateral (
    select ref from thread_node
    where project_id = :project_id and lineage = coalesce(node.parent_lineage, node.lineage) and depth = node.depth - 1
        and (node.parent_lineage is not null or node.depth = reach.known + 1)
    offset 0
) as parent on true;

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
