-- Who may do what. A key is 32 random bytes, so that its SHA-256 is all that has to be kept of it.

create table api_key (
    project_id  int not null,
    key_id      int generated always as identity,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz,        -- null: never
    last_used   timestamptz,        -- to the hour
    digest      bytea not null,
    name        text not null,
    prefix      text not null,      -- of the key, so that people can tell which it is
    scopes      text[] not null,    -- of 'ingest', 'read', 'admin'
    primary key (project_id, key_id)
);
create unique index api_key_digest on api_key (digest);
