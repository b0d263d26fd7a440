-- name: insert_pages(project, runs, digests, items, bodies, told, started, names, searches, labels)
-- Returns the pages that are news. Their runs (all are in `told`) are listed from the first span on; the projector says
-- the rest. In the order of run ids, so that transactions that list the same runs wait for each other, never in a circle.
with fresh as (
    insert into span_page (project_id, run_id, digest, items, body)
    select :project, run_id, digest, items, body
    from unnest(:runs::uuid[], :digests::uuid[], :items::int[], :bodies::bytea[]) as given (run_id, digest, items, body)
    on conflict (project_id, run_id, digest) do nothing
    returning run_id, digest
),
listed as (
    insert into run (project_id, run_id, started_ns, name, search, status, labels)
    select :project, run_id, started_ns, name, search, 'running', :labels
    from unnest(:told::uuid[], :started::bigint[], :names::text[], :searches::text[])
        as given (run_id, started_ns, name, search)
    where run_id in (select run_id from fresh)
    order by run_id
    on conflict (project_id, run_id) do nothing
)
select run_id, digest from fresh;

-- name: tell_news(project, runs, arrived, now)!
-- These runs have news: spans (`arrived` says when), or content that they waited for (0). In one order for all, and the
-- last that a transaction locks: whoever projects a run settles what it waits for before it forgets the news, too.
insert into run_news (project_id, run_id, arrived_ns, dirty_since_ns, news)
select :project::int, run_id, arrived_ns, :now::bigint, 1
from unnest(:runs::uuid[], :arrived::bigint[]) as given (run_id, arrived_ns) order by run_id
on conflict (project_id, run_id) do update
set arrived_ns = greatest(run_news.arrived_ns, excluded.arrived_ns),
    dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns),
    news = run_news.news + 1;

-- name: delete_pages(project, run, pages)!
delete from span_page where project_id = :project and run_id = :run and page = any(:pages);

-- name: write_pages(project, run, pages, digests, items, bodies)!
insert into span_page (project_id, run_id, page, digest, items, body)
select :project, :run, page, digest, items, body
from unnest(:pages::bigint[], :digests::uuid[], :items::int[], :bodies::bytea[]) as new (page, digest, items, body)
on conflict (project_id, run_id, digest) do nothing;

-- name: read_pages(project, run)
select page, body from span_page where project_id = :project and run_id = :run order by page;

-- name: wake(project, runs, now)!
-- Content came that these runs waited for: they are to be projected again.
insert into run_news (project_id, run_id, arrived_ns, dirty_since_ns, news)
select :project, run_id, :now, :now, 1 from unnest(:runs::uuid[]) as given (run_id) order by run_id
on conflict (project_id, run_id) do update
set dirty_since_ns = coalesce(run_news.dirty_since_ns, excluded.dirty_since_ns), news = run_news.news + 1;

-- name: insert_pending(project, runs, refs)!
insert into pending_ref (project_id, run_id, ref)
select :project, run_id, ref from unnest(:runs::uuid[], :refs::bytea[]) as new (run_id, ref)
on conflict do nothing;

-- name: take_pending(project, refs)
-- Runs that waited for content which is here now.
delete from pending_ref where project_id = :project and ref = any(:refs) returning run_id;

-- name: settle_pending(project, run)$
-- Forgets what came after all (a transaction that stored it may not have seen that anybody waited); counts the rest.
-- `offset 0`: see find_nodes in threads.sql.
with came as (
    delete from pending_ref as waiting
    where waiting.project_id = :project and waiting.run_id = :run and (
        exists (select from content where content.project_id = :project and content.ref = waiting.ref offset 0)
        or exists (
            select from (select project_id from thread_node where ref = waiting.ref offset 0) as node
            where node.project_id = :project
            offset 0
        )
    )
    returning ref
)
select (select count(*) from pending_ref where project_id = :project and run_id = :run) - (select count(*) from came);

-- name: lock_run(project, run)^
-- Waits for whoever projects it now.
select sealed, shared from run where project_id = :project and run_id = :run for update;

-- name: news(project, run)^
select news, arrived_ns, dirty_since_ns is not null as dirty from run_news
where project_id = :project and run_id = :run;

-- name: forget_news(project, run, news)!
-- Unless there was more meanwhile.
update run_news set dirty_since_ns = null where project_id = :project and run_id = :run and news = :news;

-- name: dirty_runs(how_many)
select project_id, run_id from run_news where dirty_since_ns is not null order by dirty_since_ns limit :how_many;

-- name: sealable_runs(quiet_since, how_many)
select run.project_id, run.run_id from run join run_news using (project_id, run_id)
where not run.sealed and run.ended_ns is not null
    and (run.fork_of is null or exists (
        select from run as parent
        where parent.project_id = run.project_id and parent.run_id = run.shared_run and parent.sealed
    ))
    and run_news.dirty_since_ns is null and run_news.arrived_ns <= :quiet_since
order by run_news.arrived_ns limit :how_many;
