-- Erasure: jobs that forget runs and conversations, what of theirs is to be erased, and what is left of it.

-- Random bytes with which tombstones are digested, so that a short text cannot be found by guessing.
alter table project add column forget_secret bytea not null
    default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- A request to forget. It stays as the record of what was erased, when, and for whom; whom or what it named does not.
create table forgetting (
    requested_ns        bigint not null,
    completed_ns        bigint,             -- null: it is under way
    contents            bigint not null default 0,  -- erased so far, with nodes of threads
    hold_ns             bigint not null,    -- what was stored or named within this time is erased after it
    candidates          bigint not null default 0,  -- contents and nodes that the runs and conversations named
    of_others           bigint not null default 0,  -- of these, what others name, so that it stays
    project_id          int not null,
    runs                int not null default 0,
    conversations       int not null default 0,
    forks               boolean not null,
    job                 uuid not null,
    at_run              uuid not null default '00000000-0000-0000-0000-000000000000',
    phase               text not null,      -- runs, scan, sessions, conversations, contents, done
    selector            jsonb,              -- {"run" | "session" | "user" | "scope": text}; null when it is completed
    selector_digest     bytea not null,     -- HMAC-SHA256 of the selector with the project's secret
    requested_by        text,               -- the name of the key
    sessions            text[] not null default '{}',   -- of the forgotten runs; emptied when it is completed
    report              jsonb not null default '{}',
    primary key (project_id, job)
);
create index forgetting_open on forgetting (project_id) where completed_ns is null;

-- Contents and thread nodes that forgotten runs named. The next sweep that begins when they are due deletes those that
-- nothing names, however young. Who stores, asks for or names one meanwhile takes it out of here.
create table gc_erasing (
    due_ns      bigint not null,
    project_id  int not null,
    in_sweep    boolean not null default false, -- it was due when the sweep that is under way began
    ref         bytea not null,
    job         uuid,                           -- null: it came late, with a span of a forgotten run
    primary key (project_id, ref)
);
create index gc_erasing_due on gc_erasing (project_id, due_ns);
create index gc_erasing_key on gc_erasing (project_id, playhead_key(ref));

-- What was erased: a digest with the project's secret of the ref, never the ref.
create table content_tombstone (
    project_id  int not null,
    forgotten   date not null,
    digest      bytea not null,     -- HMAC-SHA256
    primary key (project_id, digest)
);

alter table run_tombstone
    -- It was forgotten: what arrives of it later is dropped, and the contents that it names are erased, too.
    add column erased boolean not null default false;

alter table stored_object
    -- It has bytes of what was erased or masked: it is written anew without them, and deleted without a wait.
    add column erasing boolean not null default false;
create index stored_object_erasing on stored_object (object) where erasing;

-- As before; writers note what they name also while something is to be erased.
create or replace function playhead_enter(of_project int, runs uuid[], out sweeping boolean, out gone uuid[])
language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(hashtext('playhead.content'), of_project);
    sweeping := exists (select from gc_sweep where project_id = of_project)
        or exists (select from gc_erasing where project_id = of_project);
    gone := array(select run_id from run_tombstone where project_id = of_project and run_id = any (runs));
end
$$;
