-- Which model calls had exactly this context? The projector fills it.

create table llm_call (
    thread      bigint not null,    -- the first eight bytes of the input thread's ref: whoever asks compares the rest
    project_id  int not null,
    seq         int not null,
    run_id      uuid not null,
    primary key (project_id, run_id, seq)
);
create index llm_call_thread on llm_call using hash (thread);

-- Runs that are projected already are projected again.
update run_news set dirty_since_ns = coalesce(dirty_since_ns, arrived_ns), news = news + 1;
