-- Encryption at rest of projects.

alter table project
    -- Since it was made: a project is never encrypted, or decrypted, later on.
    add column encrypted boolean not null default false,
    -- From then on nothing of it can be read; null: it can, or it is not encrypted.
    add column key_destroyed_at timestamptz;

-- In a table of its own, which a backup can leave out: without it, what is encrypted cannot be read.
create table project_key (
    wrapped_at  timestamptz not null default now(),
    project_id  int not null primary key,
    wrapped_key bytea not null      -- the project's data key, wrapped by the operator's
);
