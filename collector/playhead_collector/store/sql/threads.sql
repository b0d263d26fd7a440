-- name: find_nodes(project, refs)
-- Where these stand, and how deep their lineages go.
with found as materialized (
    select ref, lineage, depth from thread_node where project_id = :project and ref = any(:refs)
),
reach as (
    select lineage, (
        select max(depth) from thread_node
        where thread_node.project_id = :project and thread_node.lineage = known.lineage
    ) as tip
    from (select distinct lineage from found) as known
)
select ref, lineage, depth, tip from found join reach using (lineage);

-- name: new_lineages()$
-- The first of a thousand numbers.
select nextval('thread_lineage');

-- name: insert_nodes(project, today, lineages, parent_lineages, depths, refs, messages)^
-- How many were inserted: fewer than given when another transaction took a place. And whether any extension of the
-- project waits for its parent, or any run for anything.
with new as (
    insert into thread_node (project_id, last_seen, lineage, parent_lineage, depth, ref, message)
    select :project, :today, lineage, parent_lineage, depth, ref, message
    from unnest(:lineages::bigint[], :parent_lineages::bigint[], :depths::int[], :refs::bytea[], :messages::bytea[])
        as given (lineage, parent_lineage, depth, ref, message)
    order by lineage, depth
    on conflict (project_id, lineage, depth) do nothing
    returning depth
)
select count(*) as inserted,
    exists (select from thread_orphan where project_id = :project) as orphans,
    exists (select from pending_ref where project_id = :project) as awaited
from new;

-- name: insert_orphans(project, today, parents, tips, messages)!
insert into thread_orphan (project_id, kept_since, parent, tip, messages)
select :project, :today, parent, tip, messages
from unnest(:parents::bytea[], :tips::bytea[], :messages::bytea[]) as new (parent, tip, messages)
on conflict do nothing;

-- name: take_orphans(project)
-- Extensions whose parent has come.
delete from thread_orphan as orphan
where project_id = :project and exists (
    select from thread_node as node where node.project_id = orphan.project_id and node.ref = orphan.parent
)
returning parent, messages;

-- name: read_thread(project, ref)
-- All nodes of one thread, from first to last: one range scan for each lineage that it runs through. `offset 0` keeps the
-- planner to that also while it knows nothing of a table that grew just now.
with recursive path (lineage, upto) as (
    (
        select lineage, depth from (select * from thread_node where ref = :ref offset 0) as tip
        where project_id = :project limit 1
    )
    union all
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
)
select node.ref, node.message
from path cross join lateral (
    select ref, message, depth from thread_node
    where project_id = :project and lineage = path.lineage and depth <= path.upto
    offset 0
) as node
order by node.depth;

-- name: read_threads(project, refs)
-- All nodes of many threads, each once, with where it and its parent stand and the role of its message.
with recursive path (lineage, upto) as (
    select lineage, max(depth) from thread_node where project_id = :project and ref = any(:refs) group by lineage
    union
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
),
reach as (
    select lineage, max(upto) as upto from path group by lineage
)
select node.lineage, coalesce(node.parent_lineage, node.lineage) as parent_lineage, node.depth, node.ref, node.message,
    content.role
from reach
join thread_node as node
    on node.project_id = :project and node.lineage = reach.lineage and node.depth <= reach.upto
left join content on content.project_id = :project and content.ref = node.message;
