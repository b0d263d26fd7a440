-- name: find_packs(project_id, keys)
-- Packs that have something with one of these keys.
select pack, version from playhead_find_packs(:project_id, :keys::int[]);

-- name: read_packs(project_id, packs)
-- decrypts: body=pack
select pack, version, packed, encoding, keys, body, outline, object, object_start, object_length, object_digest
from content_pack
where project_id = :project_id and pack = any(:packs::bigint[]);

-- name: note_packed_seen(project_id, refs, today)!
-- In one order, so that transactions that note the same wait for each other, never in a circle.
insert into packed_seen (project_id, ref, last_seen)
select :project_id, ref, :today from unnest(:refs::bytea[]) as given (ref) order by ref
on conflict (project_id, ref) do update set last_seen = excluded.last_seen
where packed_seen.last_seen < excluded.last_seen;

-- name: pending_of(project_id, runs)
select distinct ref from pending_ref where project_id = :project_id and run_id = any(:runs);

-- name: is_sweeping(project_id)$
select exists (select from gc_sweep where project_id = :project_id);

-- name: contents_to_pack(project_id, refs, largest)
-- decrypts: body=content
select ref, media, encoding, role, kind, tokens, first_stored, body from content
where project_id = :project_id and ref = any(:refs) and octet_length(body) <= :largest and masked is null;

-- name: undescribed(project_id, refs)
-- Those that are rows and of which it is not known what they are.
select ref from content where project_id = :project_id and ref = any(:refs) and (kind = 0 or tokens is null);

-- name: describe_contents(project_id, refs, kinds, tokens)!
update content set
    kind = case when content.kind = 0 then given.kind else content.kind end,
    tokens = coalesce(content.tokens, given.tokens)
from unnest(:refs::bytea[], :kinds::smallint[], :tokens::int[]) as given (ref, kind, tokens)
where content.project_id = :project_id and content.ref = given.ref;

-- name: unmeasured(how_many)
-- Rows of an older version. Of a large body only the header is read.
select project_id, ref, encoding, role, octet_length(body) as stored, substring(body from 1 for 14) as head
from content where size is null limit :how_many;

-- name: measure(projects, refs, kinds, sizes)!
update content set
    size = given.size,
    kind = case when content.kind = 0 then given.kind else content.kind end
from unnest(:projects::int[], :refs::bytea[], :kinds::smallint[], :sizes::int[]) as given (project_id, ref, kind, size)
where content.project_id = given.project_id and content.ref = given.ref and content.size is null;

-- name: nodes_to_pack(project_id, refs)
-- All nodes of these threads that are rows, with the lineage that their parents are in. `offset 0`: see find_nodes in
-- threads.sql.
with recursive path (lineage, upto) as (
    select node.lineage, max(node.depth)
    from unnest(:refs::bytea[]) as given (ref)
    cross join lateral (
        select project_id, lineage, depth from thread_node where ref = given.ref offset 0
    ) as node
    where node.project_id = :project_id
    group by node.lineage
    union
    select first.parent_lineage, first.depth - 1
    from path cross join lateral (
        select parent_lineage, depth from thread_node
        where project_id = :project_id and lineage = path.lineage order by depth limit 1
    ) as first
    where first.parent_lineage is not null
),
reach as (
    select lineage, max(upto) as upto from path group by lineage
)
select node.lineage, coalesce(node.parent_lineage, node.lineage) as parent_lineage, node.depth, node.ref, node.message,
    node.parent
from reach
cross join lateral (
    select * from thread_node
    where project_id = :project_id and lineage = reach.lineage and depth <= reach.upto offset 0
) as node;

-- name: take_contents(project_id, refs)
delete from content where project_id = :project_id and ref = any(:refs) returning ref;

-- name: take_nodes(project_id, refs)
-- What continues them, and stays a row, names them by ref from now on. `offset 0`: see find_nodes in threads.sql.
with gone as (
    delete from thread_node where project_id = :project_id and ctid = any(array(
        select node.place from unnest(:refs::bytea[]) as given (ref)
        cross join lateral (
            select ctid as place, project_id from thread_node where ref = given.ref offset 0
        ) as node
        where node.project_id = :project_id
    ))
    returning lineage, depth, ref
),
next as (
    update thread_node set parent = gone.ref
    from gone
    where thread_node.project_id = :project_id and thread_node.lineage = gone.lineage
        and thread_node.depth = gone.depth + 1 and thread_node.ref <> all(:refs)
),
forks as (
    update thread_node set parent = gone.ref, parent_lineage = null
    from gone
    where thread_node.project_id = :project_id and thread_node.parent_lineage = gone.lineage
        and thread_node.depth = gone.depth + 1 and thread_node.ref <> all(:refs)
)
select distinct ref from gone;

-- name: write_packs(project_id, runs, today, encodings, keys, bodies)!
-- encrypts: bodies=pack
-- Keys of each pack as the text of an array: arrays of arrays have one length.
insert into content_pack (pack, project_id, packed, encoding, keys, body, runs)
select nextval('content_pack_number'), :project_id, :today, encoding, keys::int[], body, :runs::uuid[]
from unnest(:encodings::smallint[], :keys::text[], :bodies::bytea[]) with ordinality as new (encoding, keys, body, n)
order by n;

-- name: runs_to_pack(how_many, without)
-- Of all projects but those in `without`.
select project_id, run_id, times from packing_due
where not exists (select from gc_sweep where gc_sweep.project_id = packing_due.project_id)
    and project_id <> all(:without::int[])
limit :how_many;

-- name: due_for_packing(project_id, runs)!
insert into packing_due (project_id, run_id) select :project_id, run_id from unnest(:runs::uuid[]) as given (run_id)
order by run_id
on conflict (project_id, run_id) do update set times = packing_due.times + 1;

-- name: are_packed(project_id, runs, times)!
-- Unless something arrived meanwhile.
delete from packing_due using unnest(:runs::uuid[], :times::int[]) as known (run_id, times)
where project_id = :project_id and packing_due.run_id = known.run_id and packing_due.times = known.times;

-- name: young_packs(project_id, after, cutoff, how_many)
select pack from content_pack
where project_id = :project_id and pack > :after and packed >= :cutoff order by pack limit :how_many;

-- name: mark_packed_seen(project_id, cutoff)!
with old as (delete from packed_seen where project_id = :project_id and last_seen < :cutoff)
insert into gc_mark (project_id, ref)
select project_id, ref from packed_seen
where project_id = :project_id and last_seen >= :cutoff and not exists (
    select from gc_erasing
    where gc_erasing.project_id = :project_id and gc_erasing.ref = packed_seen.ref and gc_erasing.in_sweep
)
on conflict (project_id, ref) do nothing;

-- name: old_packs(project_id, before, cutoff, how_many)
-- And those that have what is to be erased. The latest first: what is in a pack is named by later ones.
select pack from content_pack
where project_id = :project_id and (:before < 0 or pack < :before) and (
    packed < :cutoff or exists (
        select from unnest(keys) as has (key)
        join gc_erasing on gc_erasing.project_id = :project_id and playhead_key(gc_erasing.ref) = has.key
        where gc_erasing.in_sweep
    )
)
order by pack desc limit :how_many;

-- name: marked(project_id, refs)
select ref from gc_mark where project_id = :project_id and ref = any(:refs);

-- name: delete_packs(project_id, packs)!
delete from content_pack where project_id = :project_id and pack = any(:packs::bigint[]);

-- name: rewrite_pack(project_id, pack, encoding, keys, body)!
-- encrypts: body=pack
-- If it was in the object store, it is here again.
update content_pack
set version = version + 1, encoding = :encoding, keys = :keys::text::int[], body = :body, outline = null,
    object = null, object_start = null, object_length = null, object_digest = null
where project_id = :project_id and pack = :pack;

-- name: waste(enough)
-- Tables that runs pass through, with their bytes and rows; of many rows only that they are many.
select 'content' as name, pg_total_relation_size('content') as bytes,
    (select count(*) from (select from content limit :enough) as counted) as rows
union all
select 'thread_node', pg_total_relation_size('thread_node'),
    (select count(*) from (select from thread_node limit :enough) as counted);
