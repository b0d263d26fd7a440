-- name: find_nodes(project_id, refs)
-- Where these stand, and how deep their lineages go.
-- `offset 0` keeps the planner to one index look-up for each ref. On a table that grew just now, and of which it has no
-- statistics yet, it would rather read all nodes of the project.
with found as materialized (
    select node.ref, node.lineage, node.depth
    from (select distinct unnest(:refs::bytea[]) as ref) as given
    cross join lateral (
        select ref, project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
),
reach as (
    select lineage, (
        select max(depth) from thread_node
        where thread_node.project_id = :project_id and thread_node.lineage = known.lineage
    ) as tip
    from (select distinct lineage from found) as known
)
select ref, lineage, depth, tip from found join reach using (lineage);

-- name: new_lineages()$
-- The first of a thousand numbers.
select nextval('thread_lineage');

-- name: insert_nodes(project_id, today, lineages, parent_lineages, parents, depths, refs, messages)^
-- How many were inserted: fewer than given when another transaction took a place. And whether any extension of the
-- project waits for its parent, or any run for anything.
with new as (
    insert into thread_node (project_id, last_seen, lineage, parent_lineage, parent, depth, ref, message)
    select :project_id, :today, lineage, parent_lineage, parent, depth, ref, message
    from unnest(
        :lineages::bigint[], :parent_lineages::bigint[], :parents::bytea[], :depths::int[], :refs::bytea[],
        :messages::bytea[]
    ) as given (lineage, parent_lineage, parent, depth, ref, message)
    order by lineage, depth
    on conflict (project_id, lineage, depth) do nothing
    returning depth
)
select count(*) as inserted,
    exists (select from thread_orphan where project_id = :project_id) as orphans,
    exists (select from pending_ref where project_id = :project_id) as awaited
from new;

-- name: insert_orphans(project_id, today, parents, tips, messages)!
insert into thread_orphan (project_id, kept_since, parent, tip, messages)
select :project_id, :today, parent, tip, messages
from unnest(:parents::bytea[], :tips::bytea[], :messages::bytea[]) as new (parent, tip, messages)
on conflict do nothing;

-- name: take_orphans(project_id)
-- Extensions whose parent has come.
delete from thread_orphan as orphan
where project_id = :project_id and exists (
    select from thread_node as node where node.project_id = orphan.project_id and node.ref = orphan.parent
    union all
    select from content_pack as pack
    where pack.keys @> array[playhead_key(orphan.parent)] and pack.project_id = orphan.project_id
)
returning parent, messages;

-- name: has_orphans(project_id)$
-- Whether extensions are kept whose parent has come.
select exists (
    select from thread_orphan as orphan
    cross join lateral (select project_id from thread_node where ref = orphan.parent offset 0) as node
    where orphan.project_id = :project_id and node.project_id = :project_id
    union all
    select from thread_orphan as orphan
    join content_pack as pack on pack.keys @> array[playhead_key(orphan.parent)] and pack.project_id = :project_id
    where orphan.project_id = :project_id
);

-- name: read_thread(project_id, ref)
-- The nodes of one thread that are rows, from first to last: one range scan for each lineage that it runs through. What
-- stands before the first has its ref as `parent`, and is packed. `offset 0`: see find_nodes.
with recursive path (lineage, upto) as (
    (
        select lineage, depth from (select * from thread_node where ref = :ref offset 0) as tip
        where project_id = :project_id limit 1
    )
    union all
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
)
select node.ref, node.message, node.parent, node.depth
from path cross join lateral (
    select ref, message, parent, depth from thread_node
    where project_id = :project_id and lineage = path.lineage and depth <= path.upto
    offset 0
) as node
order by node.depth;

-- name: read_threads(project_id, owners, refs, known_owners, known_lineages, known_depths)
-- For each reader all nodes of many threads, each once, with where it and its parent stand and the role of its message;
-- but not those that the reader knows: of a lineage, up to a depth. `parent` is given where it may not be among the rows.
-- `offset 0`: see find_nodes.
with recursive known as materialized (
    select owner, lineage, depth
    from unnest(:known_owners::int[], :known_lineages::bigint[], :known_depths::int[]) as each (owner, lineage, depth)
),
path (owner, lineage, upto) as (
    select given.owner, node.lineage, max(node.depth)
    from unnest(:owners::int[], :refs::bytea[]) as given (owner, ref)
    cross join lateral (
        select project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
    group by given.owner, node.lineage
    union
    select path.owner, first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
        and not exists (select from known where known.owner = path.owner and known.lineage = path.lineage)
),
reach as (
    select path.owner, path.lineage, max(upto) as upto, coalesce(max(known.depth), 0) as known
    from path left join known on known.owner = path.owner and known.lineage = path.lineage
    group by path.owner, path.lineage
)
select reach.owner, node.lineage, coalesce(node.parent_lineage, node.lineage) as parent_lineage, node.depth, node.ref,
    node.message, content.role, coalesce(parent.ref, node.parent) as parent, node.parent as packed_parent
from reach
cross join lateral (
    select * from thread_node
    where project_id = :project_id and lineage = reach.lineage and depth > reach.known and depth <= reach.upto
    offset 0
) as node
left join lateral (
    select role from content where project_id = :project_id and ref = node.message offset 0
) as content on true
left join lateral (
    select ref from thread_node
    where project_id = :project_id and lineage = coalesce(node.parent_lineage, node.lineage) and depth = node.depth - 1
        and (node.parent_lineage is not null or node.depth = reach.known + 1)
    offset 0
) as parent on true;
