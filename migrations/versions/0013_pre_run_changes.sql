-- What each projection of a run did to the run's events, for clients that follow runs live: who was cut off gets exactly
-- what it missed.  A row is written only when events were added, moved or changed.  Rows are kept for
-- PLAYHEAD_STREAM_RESUME_SECONDS.
--
-- `projection` numbers are given in the order of commits (transactions that write rows here take turns), so whoever has
-- seen a number has seen all smaller ones.
create table run_change (
    projection  bigint not null,
    at_ns       bigint not null,
    project_id  int not null,
    first_seq   int not null,   -- from here on, events are new, or have another seq than before
    last_seq    int not null,   -- number of events after this projection
    known       int not null,   -- number of events before it
    run_id      uuid not null,
    altered     int[],          -- seqs of events that were there before, with other data
    was         int[],          -- null: all from first_seq on are new. Else, for each of them, its seq before; 0: it is new
    primary key (project_id, projection)
);
create index run_change_run on run_change (project_id, run_id, projection);

-- Rows up to this number were removed: a client that has seen less cannot be told what it missed.
alter table project add column changes_removed bigint not null default 0;
-- Of projections before this table existed, nothing is known.
update project set changes_removed = (select case when is_called then last_value else 0 end from run_projection);
