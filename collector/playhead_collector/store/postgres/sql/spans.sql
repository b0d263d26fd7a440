-- name: insert_pages(project_id, runs, digests, items, bodies, told, started, names, searches, owns, labels)
-- encrypts: bodies=span_page, names=run
-- blanks: searches
-- Returns the pages that are news. Their runs (all are in `told`) are listed from the first span on; the projector says
-- the rest. In the order of run ids, so that transactions that list the same runs wait for each other, never in a circle.
with fresh as (
    insert into span_page (project_id, run_id, digest, items, body)
    select :project_id, run_id, digest, items, body
    from unnest(:runs::uuid[], :digests::uuid[], :items::int[], :bodies::bytea[]) as given (run_id, digest, items, body)
    on conflict (project_id, run_id, digest) do nothing
    returning run_id, digest
),
listed as (
    insert into run (project_id, run_id, started_ns, name, search, is_own, status, labels)
    select :project_id, run_id, started_ns, name, search, is_own, 'running', :labels
    from unnest(:told::uuid[], :started::bigint[], :names::text[], :searches::text[], :owns::boolean[])
        as given (run_id, started_ns, name, search, is_own)
    where run_id in (select run_id from fresh)
    order by run_id
    on conflict (project_id, run_id) do nothing
    returning run_id, started_ns
),
counted as (
    insert into run_outcome (project_id, run_id, started_ns, status)
    select :project_id, run_id, started_ns, 'running' from listed
    on conflict (project_id, run_id) do nothing
)
select run_id, digest from fresh;

-- name: mark_news(project_id, runs, arrived, own, now)!
-- These runs have news: spans (`arrived` says when), or content that they waited for (0). `own`: when the run's own process
-- has sent some of them; 0: it has not. In one order for all, and the
-- last that a transaction locks: whoever projects a run settles what it waits for before it forgets the news, too.
insert into run_news (project_id, run_id, arrived_ns, own_arrived_ns, dirty_since_ns, news)
select :project_id::int, run_id, arrived_ns, own_ns, :now::bigint, 1
from unnest(:runs::uuid[], :arrived::bigint[], :own::bigint[]) as given (run_id, arrived_ns, own_ns) order by run_id
on conflict (project_id, run_id) do update
set arrived_ns = greatest(run_news.arrived_ns, excluded.arrived_ns),
    own_arrived_ns = greatest(run_news.own_arrived_ns, excluded.own_arrived_ns),
    dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns),
    news = run_news.news + 1;

-- name: delete_pages(project_id, runs, pages)!
delete from span_page where project_id = :project_id and run_id = any(:runs) and page = any(:pages);

-- name: write_pages(project_id, runs, digests, items, bodies)
-- encrypts: bodies=span_page
-- In place of pages that were deleted, under numbers of their own: whoever keeps the numbers of pages that it has read
-- would take these for them.
insert into span_page (project_id, run_id, digest, items, body)
select :project_id, run_id, digest, items, body
from unnest(:runs::uuid[], :digests::uuid[], :items::int[], :bodies::bytea[]) as new (run_id, digest, items, body)
on conflict (project_id, run_id, digest) do nothing
returning run_id, page, items;

-- name: read_these_pages(project_id, run, pages)
-- decrypts: body=span_page
select page, body from span_page
where project_id = :project_id and run_id = :run and page = any(:pages::bigint[]) order by page;

-- name: read_pages_after(project_id, run, after, how_many)
-- decrypts: body=span_page
-- The next pages of a run, to read all of them without holding all of them.
select page, body from span_page
where project_id = :project_id and run_id = :run and page > :after order by page limit :how_many;

-- name: read_pages(project_id, runs, seen)
-- decrypts: body=span_page
-- All pages of these runs, but for those with these numbers.
select run_id, page, body from span_page
where project_id = :project_id and run_id = any(:runs) and page <> all(:seen::bigint[]) order by page;

-- name: wake(project_id, runs, now)!
-- Content came that these runs waited for: they are to be projected again.
insert into run_news (project_id, run_id, arrived_ns, dirty_since_ns, news)
select :project_id, run_id, :now, :now, 1 from unnest(:runs::uuid[]) as given (run_id) order by run_id
on conflict (project_id, run_id) do update
set dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns), news = run_news.news + 1;

-- name: insert_pending(project_id, runs, refs)!
insert into pending_ref (project_id, run_id, ref)
select :project_id, run_id, ref from unnest(:runs::uuid[], :refs::bytea[]) as new (run_id, ref)
on conflict do nothing;

-- name: take_pending(project_id, refs)
-- Runs that waited for content which is here now.
delete from pending_ref where project_id = :project_id and ref = any(:refs) returning run_id;

-- name: settle_pending(project_id, runs, packed)
-- Forgets what came after all (a transaction that stored it may not have seen that anybody waited), in rows or `packed`;
-- counts the rest. What
-- another transaction takes away now is left to it: it tells these runs' news. `offset 0`: see find_nodes in threads.sql.
with waiting as materialized (
    select run_id, ref from pending_ref where project_id = :project_id and run_id = any(:runs) for update skip locked
),
came as (
    delete from pending_ref as gone using waiting
    where gone.project_id = :project_id and gone.run_id = waiting.run_id and gone.ref = waiting.ref and (
        gone.ref = any(:packed)
        or exists (select from content where content.project_id = :project_id and content.ref = gone.ref offset 0)
        or exists (
            select from (select project_id from thread_node where ref = gone.ref offset 0) as node
            where node.project_id = :project_id
            offset 0
        )
    )
    returning gone.run_id
),
left_over as (
    select run_id, 1 as how_many from pending_ref where project_id = :project_id and run_id = any(:runs)
    union all
    select run_id, -1 from came
)
select run_id, sum(how_many)::int as pending from left_over group by run_id;

-- name: lock_to_project(project_id, runs)
-- Waits for whoever projects these now.
select run.run_id, run.sealed, run.shared, run.projection, run.tier, run_news.news, run_news.arrived_ns
from run join run_news using (project_id, run_id)
where project_id = :project_id and run_id = any(:runs) order by run_id for update of run;

-- name: lock_free_to_project(project_id, runs)
-- Passes over those that somebody else projects now.
select run.run_id, run.sealed, run.shared, run.projection, run.tier, run_news.news, run_news.arrived_ns
from run join run_news using (project_id, run_id)
where project_id = :project_id and run_id = any(:runs) order by run_id for update of run skip locked;

-- name: news(project_id, run)^
select news, arrived_ns, own_arrived_ns, dirty_since_ns is not null as dirty from run_news
where project_id = :project_id and run_id = :run;

-- name: forget_news(project_id, runs, news)!
-- Unless there was more meanwhile.
update run_news set dirty_since_ns = null
from unnest(:runs::uuid[], :news::int[]) as known (run_id, news)
where run_news.project_id = :project_id and run_news.run_id = known.run_id and run_news.news = known.news;

-- name: dirty_runs(how_many)
-- `bytes`: how much is stored of its spans, compressed. Projects take turns: of each the run that waits longest, then of
-- each the next one, so that a project with much news does not delay the others.
with recursive busy (project_id) as (
    (select project_id from run_news where dirty_since_ns is not null order by project_id limit 1)
    union all
    select (
        select project_id from run_news
        where dirty_since_ns is not null and project_id > busy.project_id order by project_id limit 1
    )
    from busy where busy.project_id is not null
)
select project_id, run_id, (
    select coalesce(sum(octet_length(body)), 0)::bigint from span_page as page
    where page.project_id = dirty.project_id and page.run_id = dirty.run_id
) as bytes
from (
    select project_id, run_id, dirty_since_ns, turn
    from busy cross join lateral (
        select run_id, dirty_since_ns, row_number() over (order by dirty_since_ns) as turn from run_news
        where run_news.project_id = busy.project_id and dirty_since_ns is not null
        order by dirty_since_ns limit :how_many
    ) as waiting
    order by turn, dirty_since_ns limit :how_many
) as dirty
order by turn, dirty_since_ns;

-- name: seal_runs(quiet_since, how_many)
-- Runs of which nothing is left to do but this, and to pack what they name. In the order of run ids, passing over those
-- that somebody projects now.
with now_sealed as (
update run set sealed = true
from (
    select run.project_id, run.run_id from run join run_news using (project_id, run_id)
    where not run.sealed and run.ended_ns is not null and run.settled
        and run_news.dirty_since_ns is null and run_news.arrived_ns <= :quiet_since
    limit :how_many
    for update of run skip locked
) as quiet
where run.project_id = quiet.project_id and run.run_id = quiet.run_id and not run.sealed
returning run.project_id, run.run_id
),
due as (
    insert into packing_due (project_id, run_id) select project_id, run_id from now_sealed order by run_id
    on conflict (project_id, run_id) do update set times = packing_due.times + 1
)
select project_id, run_id from now_sealed;

-- name: sealable_runs(quiet_since, lost_since, how_many)
-- `lost_since`: for runs of which another process has an open call.
select run.project_id, run.run_id from run join run_news using (project_id, run_id)
where not run.sealed and run.ended_ns is not null and not run.settled
    and (run.fork_of is null or exists (
        select from run as parent
        where parent.project_id = run.project_id and parent.run_id = run.shared_run and parent.sealed
    ))
    and run_news.dirty_since_ns is null and run_news.arrived_ns <= :quiet_since
    and (run.processes_open = 0 or run_news.arrived_ns <= :lost_since)
order by run_news.arrived_ns limit :how_many;

-- name: mark_lost(own_before, foreign_before, how_many)
-- Runs that go on as far as their records say, and from which nothing will come: the last record arrived too long ago, or
-- the lease of the process that ran them ran out afterwards. A run that waits for an answer is not lost, nor is one whose
-- lease is held. Times in ns. Passes over runs that somebody projects now.
with silent as (
    select run.project_id, run.run_id, run_news.arrived_ns
    from run join run_news using (project_id, run_id)
    left join run_lease as lease using (project_id, run_id)
    where run.labels @> array['status:running'] and run_news.dirty_since_ns is null
        and (
            run_news.arrived_ns <= case when run.is_own then :own_before::bigint else :foreign_before::bigint end
            or to_timestamp(run_news.arrived_ns / 1e9) <= lease.until
        )
        and (lease.until is null or lease.until <= now())
        and not exists (
            select from promise
            where promise.project_id = run.project_id and promise.run_id = run.run_id and promise.kind <> 'interrupt'
                and coalesce(promise.answered, promise.deadline, 'infinity') > to_timestamp(:own_before::bigint / 1e9)
        )
    order by run_news.arrived_ns limit :how_many
    for update of run skip locked
)
update run
set status = 'lost', lost_ns = silent.arrived_ns, labels = array_replace(run.labels, 'status:running', 'status:lost')
from silent
where run.project_id = silent.project_id and run.run_id = silent.run_id
returning run.project_id, run.run_id;
