-- What is searched for across runs, as `llm_call` has model calls.  The projector fills them; each row leads to an event,
-- by run and seq, which has the names, texts and refs.
--
-- Names (of tools, agents, models, kinds of errors) are numbers: the first four bytes of their SHA-256, so that no
-- table of names has to be kept, and none outlives the run that it came with.  Two names may have one number, by chance:
-- whoever asks reads the events anyway, and compares the name.  Null: there is no name.

create table tool_call (
    time_ns     bigint not null,    -- of its start
    call        bigint,             -- of a call that is open: its span, so that its end finds it
    project_id  int not null,
    seq         int not null,       -- of `tool_called`
    tool        int not null,
    agent       int,
    outcome     smallint not null,  -- 0 open, 1 completed, 2 failed, 3 cancelled
    run_id      uuid not null,
    primary key (project_id, run_id, seq)
);
create index tool_call_tool on tool_call (project_id, tool, time_ns);
-- Nearly all are completed, and nobody looks for these by that alone.
create index tool_call_outcome on tool_call (project_id, outcome, time_ns) where outcome <> 1;

create table decision (
    time_ns     bigint not null,
    project_id  int not null,
    seq         int not null,
    agent       int,
    about       int,                -- the agent that was handed over to, the tool that approval was asked for
    kind        smallint not null,  -- by its number in playhead.project.search_rows
    outcome     smallint not null,  -- of `approval_received`: 1 approved, 2 refused; else 0
    run_id      uuid not null,
    primary key (project_id, run_id, seq)
);
create index decision_kind on decision (project_id, kind, time_ns);
create index decision_agent on decision (project_id, agent, time_ns);

create table error (
    time_ns     bigint not null,
    project_id  int not null,
    seq         int not null,
    error_type  int,
    agent       int,
    about       int,                -- the tool, model or step that failed; of a failed run nothing
    kind        smallint not null,  -- by its number in playhead.project.search_rows
    run_id      uuid not null,
    primary key (project_id, run_id, seq)
);
create index error_type on error (project_id, error_type, time_ns);
create index error_about on error (project_id, about, time_ns);
create index error_agent on error (project_id, agent, time_ns);

-- Runs that are projected already are projected again.
update run_news set dirty_since_ns = coalesce(dirty_since_ns, arrived_ns), news = news + 1;
