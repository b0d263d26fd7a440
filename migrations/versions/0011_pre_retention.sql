-- Retention: how long runs are kept, and in which form.

-- The project's policy as JSON, as `PUT /project/retention` takes it; null: runs are kept for ever.
alter table project add column retention text;

alter table run
    -- 0 hot, 1 warm, 2 cold, 3 archive: what is left of it.
    add column tier smallint not null default 0,
    -- When it came into this tier (ns since 1970), and by which rule; null: it is hot.
    add column thinned_ns bigint,
    add column thinned_rule text;
create index run_tier on run (project_id, tier) where tier > 0;

-- The record of a cold run, or what is left of it in the archive: in place of its rows in span_page, event_page and
-- run_snapshot. A run that gets late spans has rows again, until it is packed again.
create table packed_run (
    project_id  int not null,
    run_id      uuid not null,
    -- Where the body is: a part of an object. Null: here.
    object      bigint,
    object_start bigint,
    object_length int,
    object_digest bytea,    -- the first 16 bytes of the SHA-256 of this part
    -- Digests of the contents and threads that it keeps, 32 bytes each; null: all that its record names, which is here.
    kept        bytea,
    body        bytea,      -- null: in the object store alone
    primary key (project_id, run_id)
);
alter table packed_run alter column body set storage external;
create index packed_run_object on packed_run (object) where object is not null;
create index packed_run_here on packed_run (project_id, run_id) where object is null;

create or replace view object_part as
select project_id, object, object_start, object_length, 'content' as kind from content where object is not null
union all
select project_id, object, object_start, object_length, 'pack' from content_pack where object is not null
union all
select project_id, object, object_start, object_length, 'run' from packed_run where object is not null;

-- Runs that no rule thins or deletes.
create table pin (
    pinned_ns   bigint not null,        -- by this database's clock
    project_id  int not null,
    run_id      uuid not null,
    reason      text,
    api_key     text,                   -- the name of the key that pinned it
    primary key (project_id, run_id)
);

-- What was thinned or deleted by a rule: a row for each step, with its runs.
create table removal (
    removal     bigint generated always as identity,
    at_ns       bigint not null,
    bytes       bigint not null,        -- of the runs' rows (bodies, compressed) that went
    project_id  int not null,
    contents    int not null,           -- how many contents and threads these runs do not name any more
    from_tier   smallint not null,
    to_tier     smallint not null,      -- 4: deleted
    rule        text not null,
    runs        uuid[] not null,
    primary key (project_id, removal)
);

-- A run as policies look at it. Nothing is expected of a settled run any more. A thinned run `has_rows` when late spans
-- came. `fork_tier`: the lowest tier of its forks, whose record may begin with its own.
create view run_age as
select run.project_id, run.run_id, run.tier, run.labels, coalesce(run.ended_ns, run.lost_ns) as ended_ns,
    coalesce(run_outcome.outcome, 'unknown') as outcome,
    run.sealed or run.lost_ns is not null as settled,
    coalesce(run_news.dirty_since_ns is not null, false) as dirty,
    run.tier >= 2 and not exists (
        select from packed_run where packed_run.project_id = run.project_id and packed_run.run_id = run.run_id
    ) as has_rows,
    exists (select from pin where pin.project_id = run.project_id and pin.run_id = run.run_id) as pinned,
    exists (
        select from promise
        where promise.project_id = run.project_id and promise.run_id = run.run_id and answered is null
            and (deadline is null or deadline > now())
    ) as waiting,
    exists (
        select from run_lease
        where run_lease.project_id = run.project_id and run_lease.run_id = run.run_id and until > now()
    ) as leased,
    (
        select min(case
            when fork.tier >= 2 and not exists (
                select from packed_run where packed_run.project_id = fork.project_id and packed_run.run_id = fork.run_id
            ) then 0
            else fork.tier
        end)
        from run as fork
        where fork.project_id = run.project_id
            and fork.labels @> array['fork_of:' || encode(uuid_send(run.run_id), 'hex')]
    ) as fork_tier
from run
left join run_outcome using (project_id, run_id)
left join run_news using (project_id, run_id);
