-- name: projects()
select project_id, name, (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    spans_per_second, bytes_per_day, stored_bytes, redaction
from project where deleted_at is null order by project_id;

-- name: create_project(name)^
insert into project (name) values (:name) on conflict (name) do nothing
returning project_id, name, (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    spans_per_second, bytes_per_day, stored_bytes, redaction;

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
