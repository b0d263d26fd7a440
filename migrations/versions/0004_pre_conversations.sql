-- Conversations that go on over runs. Nothing is stored for each message: the head names a thread.

create table conversation (
    created_ns      bigint not null,    -- by this database's clock
    updated_ns      bigint not null,
    project_id      int not null,
    revision        int not null,       -- 1 for the first one; each save adds 1
    messages        int not null,       -- in the head's thread
    parent_revision int,
    scope           text not null,      -- empty: none
    conversation_id text not null,
    parent_id       text,               -- of a branch: the conversation, of the same scope, that it began as
    head            bytea,              -- ref of the thread; null: no message yet
    primary key (project_id, scope, conversation_id)
);
create index conversation_updated on conversation (project_id, updated_ns, scope, conversation_id);

-- Projects in which something that keeps contents was deleted, so that a sweep is due.
create table sweep_due (
    since_ns    bigint not null,        -- when the last of it was deleted
    project_id  int not null primary key
);
