-- A fork stores what it does itself; what came before stands in its parent's record, once.

alter table run
    add column shared_run uuid,         -- the parent, where that is known and its part of the record was found
    add column shared     int;          -- how many of the parent's events come before this run's own

-- Forks and resumed runs are projected again.
update run_news set dirty_since_ns = coalesce(dirty_since_ns, arrived_ns), news = news + 1
where exists (
    select from run where run.project_id = run_news.project_id and run.run_id = run_news.run_id
        and (run.fork_of is not null or run.attempt > 0)
);
