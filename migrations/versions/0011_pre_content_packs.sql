-- Contents and thread nodes begin as rows. When a run is sealed, those that it names move into packs, which takes a third
-- of the bytes; how: collector/playhead_collector/store/packing/content_packs.py. A pack belongs to no run: what is in it
-- is found by its ref, whoever names it.

-- The first four bytes of a ref, by which packs are found that may have it.
create function playhead_key(ref bytea) returns int
language sql immutable strict parallel safe
as $$ select ('x' || encode(substring(ref from 1 for 4), 'hex'))::bit(32)::int $$;

create sequence content_pack_number;

create table content_pack (
    -- Later packs name what is in earlier ones, never the other way round.
    pack        bigint not null,
    project_id  int not null,
    version     int not null default 0,     -- another one when what no run names any more was taken out
    packed      date not null,
    encoding    smallint not null,          -- as in `content`
    keys        int[] not null,             -- of all that is in it, in its order
    body        bytea not null,
    primary key (project_id, pack)
);
alter table content_pack alter column body set storage external;
create index content_pack_keys on content_pack using gin (keys) with (fastupdate = off);

-- What was named again on a later day than it was packed: stays as long as content that was seen then.
create table packed_seen (
    project_id  int not null,
    last_seen   date not null,
    ref         bytea not null,
    primary key (project_id, ref)
);

-- Sealed runs of which something may still be packed.
create table packing_due (
    project_id  int not null,
    times       int not null default 1,
    run_id      uuid not null,
    primary key (project_id, run_id)
);
insert into packing_due (project_id, run_id) select project_id, run_id from run where sealed;

-- The node before this one, where that is packed: of the first node that a lineage still has as a row.
alter table thread_node add column parent bytea;
create index thread_node_forks on thread_node (project_id, parent_lineage, depth) where parent_lineage is not null;

-- A sweep has more phases now: those under way begin again.
delete from gc_sweep;
delete from gc_mark;
delete from gc_news;
delete from gc_doomed;
