-- Processes beside a run's own that recorded parts of it, at most 100 as JSON; null: none. How many there are, and how many
-- of them have open calls: such a run is not sealed before they have ended or are lost.
alter table run
    add column processes jsonb,
    add column process_count int not null default 0,
    add column processes_open int not null default 0;

-- When the run's own process was heard of last; 0: not since there is this column. Another one that was handed a part of the
-- run does not keep it from being resumed.
alter table run_news add column own_arrived_ns bigint not null default 0;

-- Runs get labels for their traces, by which they are found, when they are projected: once more, those that are here.
update run_news set dirty_since_ns = coalesce(dirty_since_ns, arrived_ns), news = news + 1;
