-- What is searched for across runs: their decisions, and the words of their texts. It is computed in the background from
-- the events and contents of sealed runs, and can be computed again.

alter table run add column searched boolean not null default false;     -- whether `search_run` has it
create index run_unsearched on run (project_id, run_id) where sealed and not searched;

create table search_run (
    started_ns  bigint not null,
    project_id  int not null,
    run_id      uuid not null,
    -- Numbers that stand for what its decisions are, alone and together; see playhead_collector/analysis/search/terms.py.
    terms       int[] not null,
    seen        int[] not null,     -- `playhead_key` of the contents whose text is searched
    body        bytea not null,     -- the decisions, and where the contents entered the run
    primary key (project_id, run_id)
);
alter table search_run alter column body set storage external;
create index search_run_started on search_run (project_id, started_ns desc, run_id desc);
create index search_run_terms on search_run using gin (terms) with (fastupdate = off);
create index search_run_seen on search_run using gin (seen) with (fastupdate = off);

create table search_text (
    since_ns    bigint not null,    -- when the run began that was the first to be indexed with it
    project_id  int not null,
    key         int not null,       -- `playhead_key` of `ref`
    role        smallint not null,  -- as in `content`
    ref         bytea not null,
    words       tsvector not null,
    primary key (project_id, key, ref)
);
create index search_text_since on search_text (project_id, since_ns desc, ref desc);
create index search_text_words on search_text using gin (words) with (fastupdate = off);

-- The text search configuration that `search_text` was made with; another one needs all of it made again.
alter table project add column search_language text;

-- The list of runs looks for a text in `search` without reading the rows.
-- A row of an index has 2,704 bytes at most.
update run set search = left(search, 500) where octet_length(search) > 2000;
drop index run_started;
create index run_started on run (project_id, started_ns desc, run_id desc) include (search);
