-- A lease stays when it is given back, or has run out: who wants the run next must know whether all that its holder
-- recorded has arrived.

alter table run_lease
    add column attempt int not null default 0,               -- the attempt at the run that the holder makes
    add column delivered boolean not null default false;     -- the holder has given it back, and all its records arrived

-- Runs that were taken from a holder whose records may not all have arrived. What an earlier attempt does after that is
-- not added to the run.
create table run_takeover (
    since       timestamptz not null,
    project_id  int not null,
    run_id      uuid not null,
    attempt     int not null,           -- the one that goes on since then
    primary key (project_id, run_id, attempt)
);
