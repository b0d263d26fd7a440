-- name: table_sizes(project_id)
-- Rows as Postgres counts them while it writes; after a crash it has only what the planner knows.
-- The share of a project is that of its number among the most common ones; with one project there is no question, and
-- of a table without rows (whose files are not empty) nobody has a share.
select c.relname::text as name,
    case when s.n_live_tup > 0 then s.n_live_tup else greatest(c.reltuples, 0) end::bigint as rows,
    pg_table_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes,
    case
        when (select count(*) from project) = 1 then 1
        when c.reltuples = 0 and coalesce(s.n_live_tup, 0) = 0 then 0
        else stats.most_common_freqs[array_position(stats.most_common_vals::text::int[], :project_id::int)]
    end::double precision as share
from pg_class c
left join pg_stat_user_tables s on s.relid = c.oid
left join pg_stats as stats
    on stats.schemaname = current_schema() and stats.tablename = c.relname and stats.attname = 'project_id'
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
order by c.relname;

-- name: first_content_sizes(project_id, how_many)
-- In the order of their hashes, which has nothing to do with their size. Contents of an older version have no size: of
-- a large body only the header is read.
select encoding, coalesce(octet_length(body), object_length, 0) as stored,
    case when size is null then substring(body from 1 for 14) end as head,
    kind, role, size, tokens, first_stored, last_seen, object is not null as moved
from content where project_id = :project_id order by ref limit :how_many;

-- name: large_contents(project_id, kinds, larger, after_size, after_ref, how_many)
-- Of each kind the largest by the index, of these the largest of all. `offset 0`: the index is used for each kind.
select found.*
from unnest(:kinds::smallint[]) as given (kind)
cross join lateral (
    select ref, kind, size, coalesce(octet_length(body), object_length) as stored, tokens, first_stored, last_seen,
        object is not null as moved
    from content
    where project_id = :project_id and kind = given.kind and size > 32768 and size > :larger
        and size <= :after_size and (size < :after_size or ref > :after_ref)
    order by size desc, ref limit :how_many offset 0
) as found
order by size desc, ref limit :how_many;

-- name: plain_content_sizes(project_id, refs)
select ref, size, encoding, octet_length(body) as stored,
    case when size is null then substring(body from 1 for 14) end as head
from content where project_id = :project_id and ref = any(:refs);

-- name: first_packs(project_id, how_many)
select pack from content_pack where project_id = :project_id order by pack limit :how_many;

-- name: last_pack(project_id)$
select pack from content_pack where project_id = :project_id order by pack desc limit 1;

-- name: packs_from(project_id, probes)
-- For each of these numbers, the first pack from there on.
select distinct found.pack
from unnest(:probes::bigint[]) as given (pack)
cross join lateral (
    select pack from content_pack where project_id = :project_id and pack >= given.pack order by pack limit 1
) as found;

-- name: first_runs(project_id, how_many)
select run_id, llm_calls, events from run where project_id = :project_id order by run_id limit :how_many;

-- name: last_run(project_id)$
select run_id from run where project_id = :project_id order by run_id desc limit 1;

-- name: runs_from(project_id, probes)
-- For each of these ids, the first run from there on.
select distinct found.run_id, found.llm_calls, found.events
from unnest(:probes::uuid[]) as given (run_id)
cross join lateral (
    select run_id, llm_calls, events from run
    where project_id = :project_id and run_id >= given.run_id order by run_id limit 1
) as found;
