-- name: projects()
select project_id, name, (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    spans_per_second, bytes_per_day, stored_bytes, redaction, encrypted,
    key_destroyed_at is not null as key_destroyed
from project where deleted_at is null order by project_id;

-- name: create_project(name, encrypted)^
insert into project (name, encrypted) values (:name, :encrypted) on conflict (name) do nothing
returning project_id, name, (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    spans_per_second, bytes_per_day, stored_bytes, redaction, encrypted, false as key_destroyed;

-- name: limit_project(project_id, spans_per_second, bytes_per_day, stored_bytes)!
update project
set spans_per_second = :spans_per_second, bytes_per_day = :bytes_per_day, stored_bytes = :stored_bytes
where project_id = :project_id and deleted_at is null;

-- name: set_redaction(project_id, redaction)!
update project set redaction = :redaction where project_id = :project_id and deleted_at is null;

-- name: retire_project(project_id)!
-- The name is free for another project; what is left of this one is found by its number.
update project set deleted_at = now(), name = name || ' deleted ' || gen_random_uuid()
where project_id = :project_id and deleted_at is null;

-- name: delete_project_keys(project_id)!
delete from api_key where project_id = :project_id;

-- name: remove_deleted(how_many)$
-- Null: no project is deleted.
select playhead_remove_project(project_id, :how_many)
from (
    -- A minute later: until then, collectors may take what is sent with its keys.
    select project_id from project where deleted_at < now() - interval '1 minute' order by project_id limit 1
) as deleted;

-- name: add_arrived(projects, spans, bytes)!
-- In the order of their numbers, so that two collectors do not wait for each other.
insert into project_day (project_id, day, spans, bytes)
select project_id, (now() at time zone 'utc')::date, spans, bytes
from unnest(:projects::int[], :spans::bigint[], :bytes::bigint[]) as given (project_id, spans, bytes)
order by project_id
on conflict (project_id, day) do update
set spans = project_day.spans + excluded.spans, bytes = project_day.bytes + excluded.bytes;

-- name: arrived_today()
select project_id, spans, bytes from project_day where day = (now() at time zone 'utc')::date;

-- name: project_key(project_id)^
-- `wrapped_key` null: there is none any more.
select name, encrypted, wrapped_key from project left join project_key using (project_id) where project_id = :project_id;

-- name: project_keys()
select project_id, name, wrapped_key from project join project_key using (project_id)
where deleted_at is null order by project_id;

-- name: project_keys_to_rewrap()
select project_id, wrapped_key from project_key order by project_id for update;

-- name: write_project_key(project_id, wrapped_key)!
insert into project_key (project_id, wrapped_key) values (:project_id, :wrapped_key)
on conflict (project_id) do update set wrapped_key = excluded.wrapped_key, wrapped_at = now();

-- name: destroy_project_key(project_id)!
with gone as (delete from project_key where project_id = :project_id)
update project set key_destroyed_at = now()
where project_id = :project_id and encrypted and key_destroyed_at is null and deleted_at is null;

-- name: drop_project_work(project_id)!
-- Nothing of a project whose key was destroyed can be projected, packed, described, indexed, announced, forwarded, swept,
-- scored, masked or looked through for what is to be forgotten.
with news as (
    update run_news set dirty_since_ns = null where project_id = :project_id and dirty_since_ns is not null
),
runs as (
    update run set sealed = true, settled = true, searched = true
    where project_id = :project_id and ended_ns is not null and not (sealed and settled and searched)
),
outcomes as (
    update run_outcome set undescribed = false, suspects_ns = coalesce(suspects_ns, 0)
    where project_id = :project_id and (undescribed or suspects_ns is null)
),
announcements as (
    update promise set announce_due = null where project_id = :project_id and announce_due is not null
),
packing as (delete from packing_due where project_id = :project_id),
erasing as (delete from gc_erasing where project_id = :project_id),
scorings as (delete from scoring_due where project_id = :project_id),
scorers as (update scorer set enabled = false where project_id = :project_id and enabled),
masking as (
    update redaction_job set ended_ns = updated_ns, failed = 'the key of the project was destroyed'
    where project_id = :project_id and ended_ns is null
),
forgettings as (
    update forgetting
    set phase = 'done', completed_ns = (extract(epoch from clock_timestamp()) * 1000000000)::bigint, selector = null,
        sessions = '{}'
    where project_id = :project_id and completed_ns is null
),
entries as (delete from forward_outbox where project_id = :project_id),
sweep as (delete from gc_sweep where project_id = :project_id),
due as (delete from sweep_due where project_id = :project_id)
update run_tombstone set swept = true where project_id = :project_id and not swept;
