-- Which runs had a content, and how many of their model calls were given it: known from the time on at which a run is
-- packed. How: collector/playhead_collector/store/postgres/uses/. It can be computed again from the events.

-- The runs that were packed together, and of which one at least names what is in the pack. Null: of packs that are older
-- than this column; `content_use` has all that these runs name.
alter table content_pack add column runs uuid[];

-- What a run names and its packs do not have, since it was packed before, or is not packed.
create table content_use (
    project_id  int not null,
    run_id      uuid not null,
    refs        bigint[] not null,      -- the first eight bytes of each ref
    calls       int[] not null,         -- in the same order: model calls that were given it
    primary key (project_id, run_id)
);
create index content_use_refs on content_use using gin (refs) with (fastupdate = off);

-- Runs that are packed already are looked at again: nothing moves.
insert into packing_due (project_id, run_id) select project_id, run_id from run where sealed
on conflict (project_id, run_id) do update set times = packing_due.times + 1;
