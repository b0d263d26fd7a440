-- Redaction rules of projects, and contents of which a part is masked.

-- The rules as JSON: {"keys", "patterns", "presets", "hook"}; text, so that the patterns are as they were set. Null: nothing
-- is masked.
alter table project add column redaction text;

-- The SHA-256 of the bytes that `body` has, of a content that is masked: they are not those that the ref names. Null: they
-- are.
alter table content add column masked bytea;
-- Whether it came masked, as an import sends it: nobody has shown that the bytes are what is left of the ref's. Senders that
-- ask whether the ref is stored are told that it is not. Null: it was masked here, or is whole.
alter table content add column unproven boolean;

-- Whether a part of the record is masked: the heads of its conversation are those of what was sent.
alter table conversation_record add column masked boolean not null default false;

-- Rules that are run again over what is stored, one job for each project. It goes through its phases in steps, each a
-- transaction; any collector makes the next one.
create table redaction_job (
    started_ns  bigint not null,
    updated_ns  bigint not null,
    ended_ns    bigint,                     -- null: it goes on
    at_pack     bigint not null default -1,
    project_id  int not null primary key,
    phase       int not null default 0,
    at_run      uuid not null default '00000000-0000-0000-0000-000000000000',
    at_ref      bytea not null default '',
    at_key      text not null default '',
    -- What it has looked at and changed so far, by what it is: {"contents": [looked at, changed], ...}
    counts      text not null default '{}',
    rules       text not null,              -- with which it was started
    failed      text                        -- why its last step could not be made; null: it could
);
