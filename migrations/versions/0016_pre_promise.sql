-- What runs wait for: approvals, answers of people, events from outside, requests to stop.  Each is answered once, by the
-- first update that finds no answer.  Times are this database's, since clocks of machines differ.

create table promise (
    created     timestamptz not null,
    deadline    timestamptz,        -- from then on, it can only expire
    answered    timestamptz,        -- null: it is open
    project_id  int not null,
    run_id      uuid,               -- null: several runs may wait for it
    promise_id  text not null,      -- as whoever waits made it of what is asked
    kind        text not null,
    body        text not null,      -- JSON: what is asked; text, since jsonb has no NUL
    answer      text,               -- JSON
    primary key (project_id, promise_id)
);
create index promise_open on promise (project_id, created, promise_id) where answered is null;
create index promise_run on promise (project_id, run_id) where run_id is not null;
