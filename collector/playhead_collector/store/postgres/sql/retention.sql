-- name: policies()
-- decrypts: retention=policy
select project_id, retention from project where retention is not null and deleted_at is null order by project_id;

-- name: policy(project_id)^
-- decrypts: retention=policy
select retention from project where project_id = :project_id;

-- name: set_policy(project_id, policy)!
-- encrypts: policy=policy
-- Its tags are texts of users.
update project set retention = :policy where project_id = :project_id;

-- name: run_ages_after(project_id, after, ended_before, how_many)
-- decrypts: labels#
select * from run_age
where project_id = :project_id and run_id > :after and ended_ns < :ended_before order by run_id limit :how_many;

-- name: run_ages(project_id, runs)
-- decrypts: labels#
select * from run_age where project_id = :project_id and run_id = any(:runs::uuid[]) order by run_id;

-- name: record_sizes(project_id, runs)
select run_id, sum(octet_length(body))::bigint as bytes
from (
    select run_id, body from span_page where project_id = :project_id and run_id = any(:runs::uuid[])
    union all
    select run_id, body from event_page where project_id = :project_id and run_id = any(:runs::uuid[])
    union all
    select run_id, body from run_snapshot where project_id = :project_id and run_id = any(:runs::uuid[])
    union all
    select run_id, kept from packed_run where project_id = :project_id and run_id = any(:runs::uuid[])
    union all
    select run_id, body from packed_run where project_id = :project_id and run_id = any(:runs::uuid[])
) as bodies
group by run_id;

-- name: lock_to_thin(project_id, runs)
-- Passes over those that somebody else works on.
select run_id from run where project_id = :project_id and run_id = any(:runs::uuid[])
order by run_id for update skip locked;

-- name: span_rows(project_id, runs)
-- decrypts: body=span_page
select run_id, page, digest, items, body from span_page
where project_id = :project_id and run_id = any(:runs::uuid[]) order by page;

-- name: event_rows(project_id, runs)
-- decrypts: body=event_page, beside=span_page
select event_page.run_id, event_page.page, first_seq, last_seq, event_page.body, span_page.body as beside
from event_page
left join span_page on span_page.project_id = :project_id and span_page.run_id = event_page.run_id
    and span_page.page = event_page.beside
where event_page.project_id = :project_id and event_page.run_id = any(:runs::uuid[]) order by event_page.page;

-- name: snapshot_rows(project_id, runs)
-- decrypts: body=snapshot
select run_id, seq, history, body from run_snapshot
where project_id = :project_id and run_id = any(:runs::uuid[]) order by seq;

-- name: packed_rows(project_id, runs)
-- decrypts: body=packed_run
select run_id, kept, body, object, object_start, object_length, object_digest from packed_run
where project_id = :project_id and run_id = any(:runs::uuid[]) order by run_id;

-- name: packed_here(project_id, after, how_many)
-- Records that are not in the object store yet, as they are in their rows.
select run_id, kept, body from packed_run
where project_id = :project_id and object is null and run_id > :after order by run_id limit :how_many;

-- name: point_packed(project_id, runs, objects, starts, lengths, digests, kept)!
-- Those whose rows still have the bytes that were written.
update packed_run
set object = given.object, object_start = given.start, object_length = given.length, object_digest = given.digest,
    kept = coalesce(packed_run.kept, given.kept)
from unnest(
    :runs::uuid[], :objects::bigint[], :starts::bigint[], :lengths::int[], :digests::bytea[], :kept::bytea[]
) as given (run_id, object, start, length, digest, kept)
where project_id = :project_id and packed_run.run_id = given.run_id and packed_run.object is null
    and substring(sha256(body) from 1 for 16) = given.digest;

-- name: bring_back(project_id, run, object, body)!
-- From the object store into its row, to be thawed. The body is as it was in the row.
update packed_run set body = :body where project_id = :project_id and run_id = :run and object = :object;

-- name: packs_to_warm(project_id, after, how_many)
-- Packs of which no run is hot any more.
select pack from content_pack
where project_id = :project_id and pack > :after and object is null and body is not null and runs is not null
    and not exists (
        select from run where run.project_id = :project_id and run.run_id = any(content_pack.runs) and run.tier = 0
    )
order by pack limit :how_many;

-- name: write_packed(project_id, runs, kept, bodies)!
-- encrypts: bodies=packed_run
insert into packed_run (project_id, run_id, kept, body)
select :project_id, run_id, kept, body
from unnest(:runs::uuid[], :kept::bytea[], :bodies::bytea[]) as given (run_id, kept, body)
on conflict (project_id, run_id) do update
set kept = excluded.kept, body = excluded.body, object = null, object_start = null, object_length = null,
    object_digest = null;

-- name: delete_packed(project_id, runs)!
delete from packed_run where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: restore_span_pages(project_id, runs, pages, digests, items, bodies)!
-- encrypts: bodies=span_page
-- Under the numbers that they had: they order the versions of a span. A batch that came again meanwhile is there already.
insert into span_page (project_id, run_id, page, digest, items, body)
select :project_id, run_id, page, digest, items, body
from unnest(:runs::uuid[], :pages::bigint[], :digests::uuid[], :items::int[], :bodies::bytea[])
    as given (run_id, page, digest, items, body)
on conflict (project_id, run_id, digest) do nothing;

-- name: forget_record(project_id, runs, pages)!
-- The rows of a record that stands in `packed_run` now. Of spans only these pages: others have arrived since. News that
-- came meanwhile stay as well.
with spans as (delete from span_page where project_id = :project_id and run_id = any(:runs) and page = any(:pages::bigint[])),
events as (delete from event_page where project_id = :project_id and run_id = any(:runs)),
snapshots as (delete from run_snapshot where project_id = :project_id and run_id = any(:runs)),
calls as (delete from llm_call where project_id = :project_id and run_id = any(:runs)),
tools as (delete from tool_call where project_id = :project_id and run_id = any(:runs)),
decisions as (delete from decision where project_id = :project_id and run_id = any(:runs)),
errors as (delete from error where project_id = :project_id and run_id = any(:runs)),
due as (delete from packing_due where project_id = :project_id and run_id = any(:runs)),
pending as (delete from pending_ref where project_id = :project_id and run_id = any(:runs)),
uses as (delete from content_use where project_id = :project_id and run_id = any(:runs)),
leases as (delete from run_lease where project_id = :project_id and run_id = any(:runs) and until <= now())
delete from run_news where project_id = :project_id and run_id = any(:runs) and dirty_since_ns is null;

-- name: forget_explanations(project_id, runs)!
delete from explanation where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: set_tier(project_id, runs, tier, rules, now)!
-- `searched`: it is in no index any more, and is not to be indexed again.
update run set tier = :tier, thinned_ns = :now, thinned_rule = given.rule, searched = true
from unnest(:runs::uuid[], :rules::text[]) as given (run_id, rule)
where project_id = :project_id and run.run_id = given.run_id;

-- name: archive_runs(project_id, runs, now)!
-- What is left of them has no texts. What arrives of them later is dropped, as of deleted runs.
with promises as (delete from promise where project_id = :project_id and run_id = any(:runs::uuid[])),
changes as (delete from run_change where project_id = :project_id and run_id = any(:runs::uuid[])),
stones as (
    insert into run_tombstone (project_id, run_id, deleted_ns, late_ns)
    select :project_id, run_id, :now, :now from unnest(:runs::uuid[]) as given (run_id)
    on conflict (project_id, run_id) do update
    set deleted_ns = excluded.deleted_ns, late_ns = excluded.late_ns, swept = false
)
update run set happened = null, suspect = null, processes = null
where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: note_removal(project_id, now, rule, from_tier, to_tier, runs, contents, bytes)$
insert into removal (project_id, at_ns, rule, from_tier, to_tier, runs, contents, bytes)
values (:project_id, :now, :rule, :from_tier, :to_tier, :runs::uuid[], :contents, :bytes)
returning removal;

-- name: removals(project_id, before, how_many)
select removal, at_ns, rule, from_tier, to_tier, runs, contents, bytes from removal
where project_id = :project_id and removal < :before order by removal desc limit :how_many;

-- name: tiers(project_id)
select tier, count(*) as runs from run where project_id = :project_id group by tier order by tier;

-- name: write_pin(project_id, run, reason, api_key)^
-- encrypts: reason=pin
-- decrypts: reason=pin
insert into pin (project_id, run_id, pinned_ns, reason, api_key)
select :project_id, run_id, (extract(epoch from clock_timestamp()) * 1000000000)::bigint, :reason, :api_key
from run where project_id = :project_id and run_id = :run
on conflict (project_id, run_id) do update
set pinned_ns = excluded.pinned_ns, reason = excluded.reason, api_key = excluded.api_key
returning pinned_ns, reason, api_key;

-- name: delete_pin(project_id, run)!
delete from pin where project_id = :project_id and run_id = :run;

-- name: pin(project_id, run)^
-- decrypts: reason=pin
select pinned_ns, reason, api_key from pin where project_id = :project_id and run_id = :run;
