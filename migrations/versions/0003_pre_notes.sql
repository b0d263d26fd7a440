-- What people say about runs and moments of them, and the views of the list of runs that they saved.

create table note (
    noted_ns    bigint not null,    -- by this database's clock, or as the one who moved it says
    project_id  int not null,
    -- Of the event that it is about, when it was written: seqs of a run that is not sealed may change, its id does not.
    seq         int,
    turn        int,
    run_id      uuid not null,
    note_id     text not null,      -- as the writer says
    event       text,               -- null: it is about the run
    text        text,
    label       text,
    author      text,
    api_key     text,               -- the name of the key that it was written with
    primary key (project_id, run_id, note_id)
);

create table saved_view (
    saved_at    timestamptz not null default now(),
    project_id  int not null,
    name        text not null,
    query       text not null,
    author      text,
    primary key (project_id, name)
);
