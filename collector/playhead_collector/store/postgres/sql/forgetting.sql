-- name: begin_forgetting(project_id, job, now, selector, digest, forks, requested_by, hold_ns)!
-- encrypts: selector.session=forgetting, selector.user=forgetting, selector.scope=forgetting
-- The same request sent again is one job.
insert into forgetting (project_id, job, requested_ns, phase, selector, selector_digest, forks, requested_by, hold_ns)
values (:project_id, :job::uuid, :now, 'runs', :selector::jsonb, :digest, :forks, :requested_by, :hold_ns)
on conflict do nothing;

-- name: forgettings(project_id, job, how_many)
-- Newest first; `job` null: all.
select job, phase, requested_ns, completed_ns, runs, conversations, candidates, contents, of_others, requested_by,
    report, (
    select max(due_ns) from gc_erasing
    where gc_erasing.project_id = forgetting.project_id and gc_erasing.job = forgetting.job
) as held_until_ns
from forgetting
where project_id = :project_id and (:job::uuid is null or job = :job)
order by requested_ns desc, job limit :how_many;

-- name: open_forgettings()
select project_id, job from forgetting where completed_ns is null order by requested_ns, job;

-- name: lock_forgetting(project_id, job)^
-- decrypts: selector.session=forgetting, selector.user=forgetting, selector.scope=forgetting, sessions~forgetting
-- One step at a time, whoever makes it. Nothing: another makes one, or the job is completed.
select * from forgetting where project_id = :project_id and job = :job and completed_ns is null for update skip locked;

-- name: move_forgetting(project_id, job, phase, at_run)!
update forgetting set phase = :phase, at_run = :at_run where project_id = :project_id and job = :job;

-- name: add_forgotten(project_id, job, runs, conversations, sessions, report)!
-- encrypts: sessions~forgetting
update forgetting
set runs = runs + :runs, conversations = conversations + :conversations,
    sessions = array(select distinct unnest(sessions || :sessions::text[])), report = :report::jsonb
where project_id = :project_id and job = :job;

-- name: end_forgetting(project_id, job, now)!
-- Whom or what it named is not kept, as no name is in the report.
update forgetting
set phase = 'done', completed_ns = :now, selector = null, sessions = '{}'
where project_id = :project_id and job = :job;

-- name: is_erasing(project_id, job)$
select exists (select from gc_erasing where project_id = :project_id and job = :job);

-- name: erasing_due(now)
-- Projects with something to erase now.
select distinct project_id from gc_erasing where due_ns <= :now;

-- name: selected_runs(project_id, labels, run, how_many)
-- encrypts: labels#
select run_id from run
where project_id = :project_id and (run_id = :run::uuid or labels && :labels::text[])
order by run_id limit :how_many;

-- name: unprojected_since(project_id, before)$
-- Whether it is not yet known of some run whose it is.
select exists (select from run_news where project_id = :project_id and dirty_since_ns < :before);

-- name: whose_runs(project_id, runs)
-- decrypts: session=run
select run_id, session from run where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: news_of_runs(project_id, runs)
-- Changes when anything arrives of a run.
select run_id, news from run_news where project_id = :project_id and run_id = any(:runs::uuid[]) order by run_id;

-- name: forks_of_others(project_id, runs)
-- Forks of these runs that are not among them.
select run_id from run
where project_id = :project_id and run_id <> all(:runs::uuid[])
    and labels && array(select 'fork_of:' || replace(parent::text, '-', '') from unnest(:runs::uuid[]) as given (parent));

-- name: judges_of(project_id, labels, judge)
-- Runs in which a judge was shown one of the runs that these labels link.
select run_id from run where project_id = :project_id and labels && :labels::text[] and labels @> array[:judge::text];

-- name: has_other_user(project_id, session, user)$
-- encrypts: session#, user#
-- Whether runs of another user have the label of this session.
select exists (
    select from run
    where project_id = :project_id and labels && array[:session::text] and "user" is not null
        and not labels && array[:user::text]
);

-- name: histories_of(project_id, runs)
-- Messages of snapshots, and what explanations are about and say: 32 bytes each.
select substring(history from at * 32 + 1 for 32) as ref
from run_snapshot, generate_series(0, octet_length(history) / 32 - 1) as at
where project_id = :project_id and run_id = any(:runs::uuid[])
union
select ref from explanation, lateral (values (subject), (content)) as named (ref)
where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: nodes_above(project_id, refs)
-- All nodes of those of these that are threads, with their messages. `offset 0`: see find_nodes in threads.sql.
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
select distinct node.ref, node.message, node.parent
from reach
cross join lateral (
    select ref, message, parent from thread_node
    where project_id = :project_id and lineage = reach.lineage and depth <= reach.upto offset 0
) as node;

-- name: insert_erasing(project_id, job, refs, packed, young, now, later)!
-- What nobody has stored or named lately is due now; the rest, later. `packed`: when a ref was packed, null: it is not.
insert into gc_erasing (project_id, ref, job, due_ns)
select :project_id, given.ref, :job::uuid, case
    when given.packed >= :young
        or exists (select from content where project_id = :project_id and ref = given.ref and last_seen >= :young)
        or exists (select from packed_seen where project_id = :project_id and ref = given.ref and last_seen >= :young)
        or exists (
            select from (select project_id, last_seen from thread_node where ref = given.ref offset 0) as node
            where node.project_id = :project_id and node.last_seen >= :young
        )
    then :later::bigint else :now::bigint end
from unnest(:refs::bytea[], :packed::date[]) as given (ref, packed)
order by given.ref
on conflict (project_id, ref) do update
set due_ns = greatest(gc_erasing.due_ns, excluded.due_ns), job = coalesce(excluded.job, gc_erasing.job), in_sweep = false;

-- name: count_candidates(project_id, job)!
-- With those that were erased, or stay because of others, already.
update forgetting
set candidates = contents + of_others + (
    select count(*) from gc_erasing where gc_erasing.project_id = :project_id and gc_erasing.job = :job::uuid
)
where project_id = :project_id and job = :job::uuid;

-- name: tombstones_erased(project_id, runs)!
update run_tombstone set erased = true where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: erased_of(project_id, runs)
select run_id from run_tombstone where project_id = :project_id and run_id = any(:runs::uuid[]) and erased;

-- name: drop_outbox_of(project_id, runs)
-- What is still to be sent of these runs is not sent.
delete from forward_outbox where project_id = :project_id and run_id = any(:runs::uuid[]) returning destination;

-- name: selected_conversations(project_id, scope, ids)
-- encrypts: scope~conversation_scope, ids~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation
-- Of a scope, or with one of these ids. `ids` null: by scope alone.
select scope, conversation_id, head, log from conversation
where project_id = :project_id
    and (scope = :scope::text or (:ids::text[] is not null and conversation_id = any(:ids::text[])))
order by scope, conversation_id limit 50;

-- name: count_conversations(project_id, scope, ids)$
-- encrypts: scope~conversation_scope, ids~conversation
select count(*) from conversation
where project_id = :project_id
    and (scope = :scope::text or (:ids::text[] is not null and conversation_id = any(:ids::text[])));

-- name: record_refs(log)
select refs from conversation_record where log = :log;

-- name: conversations_of_scope(project_id, scope)
-- encrypts: scope~conversation_scope
-- decrypts: conversation_id~conversation
-- Ids that no other scope has.
select conversation_id from conversation as own
where project_id = :project_id and scope = :scope and not exists (
    select from conversation as other
    where other.project_id = :project_id and other.conversation_id = own.conversation_id and other.scope <> :scope
);

-- name: span_bodies(project_id, run)
-- decrypts: body=span_page
select body from span_page where project_id = :project_id and run_id = :run;

-- name: secret(project_id)$
select forget_secret from project where project_id = :project_id;

-- name: begin_erasing(project_id, now)!
-- What is due now is erased by the sweep that begins.
update gc_erasing set in_sweep = true where project_id = :project_id and due_ns <= :now and not in_sweep;

-- name: erased(project_id, refs, today, digests)!
-- These are gone: each leaves a tombstone, `digests` in the order of `refs`, if it was to be erased.
with gone as (
    delete from gc_erasing using unnest(:refs::bytea[], :digests::bytea[]) as given (ref, digest)
    where gc_erasing.project_id = :project_id and gc_erasing.ref = given.ref and gc_erasing.in_sweep
    returning given.digest, gc_erasing.job
),
seen as (delete from packed_seen where project_id = :project_id and ref = any(:refs::bytea[])),
counted as (
    update forgetting set contents = forgetting.contents + of_job.erased
    from (select job, count(*) as erased from gone where job is not null group by job) as of_job
    where forgetting.project_id = :project_id and forgetting.job = of_job.job
)
insert into content_tombstone (project_id, digest, forgotten) select :project_id, digest, :today from gone
on conflict (project_id, digest) do update set forgotten = excluded.forgotten;

-- name: erasing_among(project_id, refs)
select ref from gc_erasing where project_id = :project_id and ref = any(:refs::bytea[]) and in_sweep;

-- name: erase_later(project_id, refs, due)!
-- What cannot be erased by this sweep.
update gc_erasing set in_sweep = false, due_ns = :due
where project_id = :project_id and ref = any(:refs::bytea[]) and in_sweep;

-- name: settle_erasing(project_id)!
-- At the end of a sweep: what it was to erase and is still named stays.
with rest as (
    delete from gc_erasing where project_id = :project_id and in_sweep returning ref, job
),
named as (
    select job, ref, row_number() over (partition by job order by ref) as n from rest
    where job is not null and exists (
        select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = rest.ref
    )
),
of_job as (
    select job, count(*) as of_others, jsonb_agg(encode(ref, 'hex')) filter (where n <= 100) as refs
    from named group by job
)
update forgetting
set of_others = forgetting.of_others + of_job.of_others,
    report = report || jsonb_build_object('refs_of_others', of_job.refs)
from of_job where forgetting.project_id = :project_id and forgetting.job = of_job.job;

-- name: forget_refs_of_others(project_id)!
-- At the end of a sweep: reports name no ref of what has stayed because of others and is gone now.
update forgetting set report = report || jsonb_build_object('refs_of_others', array(
    select named.ref from jsonb_array_elements_text(report -> 'refs_of_others') as named (ref)
    where exists (
        select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = decode(named.ref, 'hex')
    )
))
where project_id = :project_id and exists (
    select from jsonb_array_elements_text(report -> 'refs_of_others') as named (ref)
    where not exists (
        select from gc_mark where gc_mark.project_id = :project_id and gc_mark.ref = decode(named.ref, 'hex')
    )
);

-- name: content_tombstone(project_id, digest)$
select forgotten from content_tombstone where project_id = :project_id and digest = :digest;

-- name: erased_since(project_id, day)$
select exists (select from content_tombstone where project_id = :project_id and forgotten >= :day);

-- name: forget_content_tombstones(before)!
delete from content_tombstone where forgotten < :before;
