-- name: insert_object(project_id, key, bytes)$
insert into stored_object (of_project, key, bytes) values (:project_id, :key, :bytes) returning object;

-- name: publish_objects(objects, state)!
-- Rows of the same transaction name them. Not those that were given up meanwhile.
update stored_object set state = :state, changed = now() where object = any(:objects::bigint[]) and state = 0;

-- name: doom_objects(objects)!
-- Unless a row names them.
update stored_object set state = 3, changed = now()
where object = any(:objects::bigint[]) and state <> 3
    and not exists (select from object_part where object_part.object = stored_object.object);

-- name: give_up_writing(seconds)!
-- Objects whose writer died, or was too slow.
update stored_object set state = 3, changed = now()
where state = 0 and changed < now() - make_interval(secs => :seconds::double precision);

-- name: object_keys(objects)
select object, key from stored_object where object = any(:objects::bigint[]);

-- name: doomed_objects(seconds, how_many)
select object, key from stored_object
where state = 3 and (erasing or changed <= now() - make_interval(secs => :seconds::double precision))
order by object limit :how_many;

-- name: erase_from_objects(project_id)!
-- Something of the project was erased or masked: objects with bytes that no row names do not wait.
update stored_object set erasing = true
where of_project = :project_id and not erasing and bytes > (
    select coalesce(sum(object_length), 0) from object_part where object_part.object = stored_object.object
);

-- name: erase_unnamed(objects)!
-- Objects that were just published: a row that was gone by then may have been erased before its object was known.
update stored_object set erasing = true
where object = any(:objects::bigint[]) and not erasing and bytes > (
    select coalesce(sum(object_length), 0) from object_part where object_part.object = stored_object.object
);

-- name: erasing_objects(after, how_many)
-- Objects from which something is to be erased, with the bytes of their parts that rows name.
select object, of_project, state, bytes, (
    select coalesce(sum(object_length), 0)::bigint from object_part where object_part.object = stored_object.object
) as named_bytes
from stored_object where erasing and state in (1, 2) and object > :after order by object limit :how_many;

-- name: nothing_to_erase(objects)!
update stored_object set erasing = false where object = any(:objects::bigint[]) and state in (1, 2);

-- name: forget_objects(objects)!
delete from stored_object where object = any(:objects::bigint[]) and state = 3;

-- name: objects_after(after, how_many)
-- Live objects with the bytes of their parts that rows name, and whether packs are all that is in them.
select object.object, object.of_project, object.state, object.bytes, named.bytes as named_bytes, named.are_packs
from (
    select * from stored_object where object > :after and state in (1, 2) order by object limit :how_many
) as object
cross join lateral (
    select coalesce(sum(object_length), 0)::bigint as bytes, coalesce(bool_and(kind = 'pack'), false) as are_packs
    from object_part where object_part.object = object.object
) as named
order by object.object;

-- name: pointed_objects(seconds, how_many)
-- Objects whose bodies may be deleted from rows.
select object, key, bytes from stored_object
where state = 1 and changed <= now() - make_interval(secs => :seconds::double precision)
order by object limit :how_many;

-- name: settle_object(object)!
-- The bodies that the object has are deleted from the rows.
with contents as (update content set body = null where object = :object and body is not null),
packs as (update content_pack set body = null where object = :object and body is not null),
runs as (update packed_run set body = null where object = :object and body is not null)
update stored_object set state = 2, changed = now() where object = :object and state = 1;

-- name: unpoint_object(object)!
-- The object is not what was written: the rows, which have the bodies still, do not name it any more.
with contents as (
    update content
    set object = null, object_start = null, object_length = null, object_digest = null, names = null
    where object = :object and body is not null
),
runs as (
    update packed_run set object = null, object_start = null, object_length = null, object_digest = null
    where object = :object and body is not null
)
update content_pack
set object = null, object_start = null, object_length = null, object_digest = null, outline = null
where object = :object and body is not null;

-- name: projects_with_large(least)
-- The first condition is the index'.
select distinct project_id from content
where object is null and octet_length(body) >= 65536 and octet_length(body) >= :least;

-- name: contents_to_move(least, project_id, after, how_many)
-- Contents that are large enough for objects of their own, after this one.
select project_id, ref, encoding, body from content
where object is null and octet_length(body) >= 65536 and octet_length(body) >= :least
    and project_id = :project_id and ref > :after
order by ref limit :how_many;

-- name: large_waiting(least)$
select count(*) from content where object is null and octet_length(body) >= 65536 and octet_length(body) >= :least;

-- name: point_content(project_id, ref, object, start, length, digest, names, size)!
-- If the row still has the bytes that were written.
update content
set object = :object, object_start = :start, object_length = :length, object_digest = :digest, names = :names,
    size = coalesce(size, :size)
where project_id = :project_id and ref = :ref and object is null and substring(sha256(body) from 1 for 16) = :digest;

-- name: packs_to_move(project_id, packs, if_smaller)
-- With `if_smaller` without those of which it is known that they stay.
select pack, encoding, keys, body from content_pack
where project_id = :project_id and pack = any(:packs::bigint[]) and object is null and body is not null
    and (outline is null or not :if_smaller)
order by pack;

-- name: keep_packs(project_id, packs)!
-- Their outlines would take as much as they do.
update content_pack set outline = '' where project_id = :project_id and pack = any(:packs::bigint[]) and object is null;

-- name: point_packs(project_id, packs, objects, starts, lengths, digests, outlines)!
-- Those whose rows still have the bytes that were written.
update content_pack
set object = given.object, object_start = given.start, object_length = given.length, object_digest = given.digest,
    outline = given.outline
from unnest(
    :packs::bigint[], :objects::bigint[], :starts::bigint[], :lengths::int[], :digests::bytea[], :outlines::bytea[]
) as given (pack, object, start, length, digest, outline)
where project_id = :project_id and content_pack.pack = given.pack and content_pack.object is null
    and substring(sha256(body) from 1 for 16) = given.digest;

-- name: packs_in_object(object)
select project_id, pack, object, object_start, object_length, object_digest from content_pack
where object = :object order by object_start;

-- name: runs_in_object(object)
select project_id, run_id, object, object_start, object_length, object_digest from packed_run
where object = :object order by object_start;

-- name: repoint_runs(project_id, from_object, runs, objects, starts)!
-- The records are in another object now.
update packed_run set object = given.object, object_start = given.start
from unnest(:runs::uuid[], :objects::bigint[], :starts::bigint[]) as given (run_id, object, start)
where project_id = :project_id and packed_run.run_id = given.run_id and packed_run.object = :from_object;

-- name: repoint_packs(project_id, from_object, packs, objects, starts)!
-- The packs are in another object now.
update content_pack set object = given.object, object_start = given.start
from unnest(:packs::bigint[], :objects::bigint[], :starts::bigint[]) as given (pack, object, start)
where project_id = :project_id and content_pack.pack = given.pack and content_pack.object = :from_object;

-- name: object_sizes(project_id)^
-- Of a project, or of all.
select count(*) filter (where state <> 3) as objects,
    coalesce(sum(bytes) filter (where state <> 3), 0)::bigint as bytes,
    coalesce(sum(bytes) filter (where state = 3), 0)::bigint as doomed_bytes,
    (
        select coalesce(sum(object_length), 0)::bigint from object_part
        where :project_id::int is null or object_part.project_id = :project_id
    ) as named_bytes
from stored_object where :project_id::int is null or of_project = :project_id;

-- name: all_object_keys()
select key from stored_object;
