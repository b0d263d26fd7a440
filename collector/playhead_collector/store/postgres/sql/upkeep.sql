-- name: new_epochs()!
-- Senders forget what they believe to be stored.
update project set gc_epoch = gen_random_uuid();

-- name: other_collectors()$
-- Processes of collectors that use this database now.
select count(distinct pid) from pg_stat_activity
where application_name = 'playhead' and datname = current_database() and pid <> pg_backend_pid();

-- name: projects_with_dictionaries()
-- Projects with a trained dictionary, of which something was erased.
select distinct project_id from dictionary
where body <> '' and exists (
    select from run_tombstone where run_tombstone.project_id = dictionary.project_id
    union all
    select from content_tombstone where content_tombstone.project_id = dictionary.project_id
);

-- name: trained_contents(project_id, after, how_many)
-- In rows. What is in the object store alone keeps its dictionary.
select ref, encoding, body from content
where project_id = :project_id and encoding > 0 and body is not null and ref > :after order by ref limit :how_many;

-- name: encode_contents(project_id, refs, encoding, bodies)!
update content
set encoding = :encoding, body = given.body,
    object = null, object_start = null, object_length = null, object_digest = null, names = null
from unnest(:refs::bytea[], :bodies::bytea[]) as given (ref, body)
where content.project_id = :project_id and content.ref = given.ref;

-- name: trained_packs(project_id, after, how_many)
select pack, encoding, body from content_pack
where project_id = :project_id and encoding > 0 and body is not null and pack > :after order by pack limit :how_many;

-- name: encode_pack(project_id, pack, encoding, body)!
update content_pack
set version = version + 1, encoding = :encoding, body = :body, outline = null,
    object = null, object_start = null, object_length = null, object_digest = null
where project_id = :project_id and pack = :pack;

-- name: delete_dictionaries(project_id)!
-- Those that nothing is compressed with any more.
delete from dictionary
where project_id = :project_id
    and not exists (
        select from content where content.project_id = :project_id and content.encoding = dictionary.dictionary
    )
    and not exists (
        select from content_pack
        where content_pack.project_id = :project_id and content_pack.encoding = dictionary.dictionary
    );

-- name: vacuum_all()!
vacuum (full, analyze);

-- name: vacuum_statistics()!
-- What `analyze` has replaced: the most frequent values of columns.
vacuum full pg_statistic;

-- name: checkpoint()!
checkpoint;

-- name: switch_wal()!
select pg_switch_wal();
