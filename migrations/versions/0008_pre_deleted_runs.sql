-- Deleted runs, and the garbage collection of content. How it works: collector/playhead_collector/store/gc/.

-- A run that was deleted: what still arrives of it is dropped.
create table run_tombstone (
    deleted_ns  bigint not null,
    late_ns     bigint not null,        -- when something of it arrived last; when it was deleted, at first
    project_id  int not null,
    dropped     int not null default 0, -- spans and log events that arrived afterwards
    swept       boolean not null default false,
    run_id      uuid not null,
    primary key (project_id, run_id)
);

-- An explanation goes with the run that it was made for. A cache: those whose run is not known are made again.
delete from explanation;
alter table explanation add column run_id uuid not null;
create index explanation_run on explanation (project_id, run_id);

-- A sweep under way: a row for each project that has one. Its phases are in store/gc/sweep.py.
create table gc_sweep (
    started_ns  bigint not null,
    at_lineage  bigint not null default -1,
    contents    bigint not null default 0,  -- deleted so far
    nodes       bigint not null default 0,
    project_id  int not null primary key,
    phase       int not null default 0,
    at_depth    int not null default -1,
    cutoff      date not null,              -- what was seen on this day or later stays
    at_run      uuid not null default '00000000-0000-0000-0000-000000000000',
    at_ref      bytea not null default ''
);

-- What stays. `traced`: what it names is marked, too.
create table gc_mark (
    project_id  int not null,
    traced      boolean not null default false,
    ref         bytea not null,
    primary key (project_id, ref)
);
create index gc_mark_untraced on gc_mark (project_id) where not traced;

-- What was stored or named while a sweep is under way: it stays, with all that it names.
create table gc_news (
    project_id  int not null,
    ref         bytea not null
);
create index gc_news_project on gc_news (project_id);

-- Thread nodes that may go, deepest first: a node goes before the one that it continues.
create table gc_doomed (
    project_id  int not null,
    depth       int not null,
    lineage     bigint not null,
    primary key (project_id, depth, lineage)
);

-- What every transaction that stores does first. It waits for a deletion or a step of a sweep to end, and holds off the
-- next one until it has committed itself. In a function, since each of its statements sees what was committed before it.
create function playhead_enter(of_project int, runs uuid[], out sweeping boolean, out gone uuid[])
language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(hashtext('playhead.content'), of_project);
    sweeping := exists (select from gc_sweep where project_id = of_project);
    gone := array(select run_id from run_tombstone where project_id = of_project and run_id = any (runs));
end
$$;
