-- name: touch_contents(project_id, refs, today)
-- Those of these refs that are stored; they are seen today.
with touched as (
    update content set last_seen = :today
    where project_id = :project_id and ref = any(:refs) and last_seen < :today
)
select ref, masked, unproven from content where project_id = :project_id and ref = any(:refs);

-- name: insert_contents(project_id, today, refs, media, encodings, roles, kinds, sizes, bodies, masked, unproven)$
-- encrypts: bodies=content
-- Whether any run of the project waits for anything.
with new as (
    insert into content (
        project_id, last_seen, first_stored, ref, media, encoding, role, kind, size, body, masked, unproven
    )
    select :project_id, :today, :today, ref, media, encoding, role, kind, size, body, masked, unproven
    from unnest(
        :refs::bytea[], :media::int[], :encodings::smallint[], :roles::smallint[], :kinds::smallint[], :sizes::int[],
        :bodies::bytea[], :masked::bytea[], :unproven::boolean[]
    ) as given (ref, media, encoding, role, kind, size, body, masked, unproven)
    on conflict (project_id, ref) do nothing
)
select exists (select from pending_ref where project_id = :project_id) as awaited;

-- name: replace_contents(project_id, refs, media, encodings, roles, kinds, sizes, bodies, masked, proven)!
-- encrypts: bodies=content
-- Stores other bytes under the same refs: masked ones in place of whole ones, or the other way round. What was in the
-- object store is here again. `proven`: they were made here of the bytes that the refs name.
update content set media = given.media, encoding = given.encoding, role = given.role, body = given.body,
    masked = given.masked, unproven = case when not :proven then content.unproven end,
    size = given.size, kind = case when content.kind = 0 then given.kind else content.kind end,
    object = null, object_start = null, object_length = null, object_digest = null, names = null
from unnest(
    :refs::bytea[], :media::int[], :encodings::smallint[], :roles::smallint[], :kinds::smallint[], :sizes::int[],
    :bodies::bytea[], :masked::bytea[]
) as given (ref, media, encoding, role, kind, size, body, masked)
where content.project_id = :project_id and content.ref = given.ref;

-- name: touch(project_id, refs, today)
-- Those of these refs that are stored, as content or as thread; they are seen today. `unproven`: it came masked.
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
select ref, unproven from content where project_id = :project_id and ref = any(:refs)
union all
select ref, null from found;

-- name: insert_media_types(project_id, names)!
insert into media_type (project_id, name)
select :project_id, name from unnest(:names::text[]) as new (name)
on conflict (project_id, name) do nothing;

-- name: media_types(project_id, names)
select name, media from media_type where project_id = :project_id and name = any(:names);

-- name: read_contents(project_id, refs)
-- decrypts: body=content?encoding
-- Contents, and thread nodes (whose encoding is null): their message and parent, 32 bytes each, as body.
-- `offset 0`: see find_nodes.
with found as materialized (
    select content.ref, content.media, media_type.name, content.encoding, content.body, content.masked,
        content.object, content.object_start, content.object_length, content.object_digest
    from content
    left join media_type using (project_id, media)
    where content.project_id = :project_id and content.ref = any(:refs)
)
select ref, media, name, encoding, body, masked, object, object_start, object_length, object_digest from found
union all
select node.ref, 0, null, null, node.message || coalesce(parent.ref, node.parent, ''), null, null, null, null, null
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
-- decrypts: body=content
-- Refs are hashes, so the lowest are a fair sample, and the same one for everybody.
select encoding, body from content
where project_id = :project_id and octet_length(body) <= :largest
order by ref limit :wanted;

-- name: insert_dictionary(project_id, dictionary, contents, body)!
insert into dictionary (project_id, dictionary, contents, body) values (:project_id, :dictionary, :contents, :body);

-- name: content_facts(project_id, ref)^
select kind, tokens, first_stored, last_seen, object is not null as moved from content where project_id = :project_id and ref = :ref;

-- name: packed_last_seen(project_id, ref)$
select last_seen from packed_seen where project_id = :project_id and ref = :ref;

-- name: roles_of(project_id, refs)
-- Of those that are stored.
select ref, role from unnest(:refs::bytea[]) as given (ref)
cross join lateral (select role from content where project_id = :project_id and ref = given.ref offset 0) as content;
