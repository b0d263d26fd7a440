-- Which process goes on with a run now? It says so again and again; times are this database's, since clocks of machines
-- differ. Few rows: those of runs that are being resumed, and for a day of processes that died at it.

create table run_lease (
    since       timestamptz not null,
    until       timestamptz not null,
    project_id  int not null,
    run_id      uuid not null,
    holder      text not null,      -- a journal: within it, the kernel's locks tell processes apart
    process     text not null,      -- for people
    primary key (project_id, run_id)
);
