-- name: keys(project_id)
-- Null: of all projects.
select project_id, key_id, name, prefix, scopes, digest,
    (extract(epoch from created_at) * 1000000000)::bigint as created_ns,
    (extract(epoch from expires_at) * 1000000000)::bigint as expires_ns,
    (extract(epoch from last_used) * 1000000000)::bigint as last_used_ns
from api_key where project_id = :project_id or :project_id::int is null order by key_id;

-- name: insert_key(project_id, name, prefix, digest, scopes, seconds)^
insert into api_key (project_id, name, prefix, digest, scopes, expires_at)
values (:project_id, :name, :prefix, :digest, :scopes, now() + make_interval(secs => :seconds))
returning project_id, key_id, name, prefix, scopes, digest,
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
