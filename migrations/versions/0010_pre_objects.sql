-- The object store: where large contents and packs of warm runs are.

-- An object in it. The row is written before the object, and goes after it, so that no object is without a row.
create table stored_object (
    changed     timestamptz not null default now(),     -- since when it is in this state
    bytes       bigint not null,
    object      bigint generated always as identity primary key,
    -- Not `project_id`: when a project is deleted, these rows stay until their objects are deleted.
    of_project  int not null,
    -- 0 it is being written, and no row names it; 1 rows name it, and still have its bytes; 2 the bytes are in it alone;
    -- 3 no row names it, and it is going to be deleted
    state       smallint not null default 0,
    key         text not null                           -- below the prefix of the object store
);
create index stored_object_state on stored_object (state, changed) where state <> 2;

alter table content
    -- Where the body is: a part of an object. Null: here.
    add column object bigint,
    add column object_start bigint,
    add column object_length int,
    add column object_digest bytea,     -- the first 16 bytes of the SHA-256 of this part
    add column names bytea,             -- of a moved body: the refs in it, 32 bytes each, so that no sweep has to read it
    add column if not exists size int,  -- in bytes, not compressed
    alter column body drop not null;
create index content_object on content (object) where object is not null;
-- Contents that may move: few, and looked for again and again. The least size that can be set.
create index content_large on content (project_id, ref) where object is null and octet_length(body) >= 65536;

alter table content_pack
    add column object bigint,
    add column object_start bigint,
    add column object_length int,
    add column object_digest bytea,
    add column outline bytea,           -- of a moved pack: all but the bytes of its contents
    alter column body drop not null;
create index content_pack_object on content_pack (object) where object is not null;
alter table content_pack alter column outline set storage external;

-- All that names a part of an object. An object that nothing here names is deleted.
create view object_part as
select project_id, object, object_start, object_length, 'content' as kind from content where object is not null
union all
select project_id, object, object_start, object_length, 'pack' from content_pack where object is not null;
