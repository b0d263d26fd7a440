-- Contents say what they are. No row is rewritten here; sizes of older rows are filled in the background.

alter table content
    -- Bytes, not compressed; null: stored by an older version, and not looked at yet.
    add column size int,
    -- By its number in the code; 0: not known yet.
    add column kind smallint not null default 0,
    -- An estimate; null: not counted yet.
    add column tokens int,
    -- null: stored by an older version.
    add column first_stored date;

-- The largest contents of a kind. Smaller ones are packed, and cost no entry.
create index content_large on content (project_id, kind, size desc, ref) where size > 32768;
-- Rows of an older version: there are no new ones.
create index content_unmeasured on content (project_id) where size is null;
