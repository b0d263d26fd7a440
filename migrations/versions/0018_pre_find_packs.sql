-- The packs that have something with one of these keys.
--
-- Keys of packs are stored apart from their rows, which Postgres does not count when it plans: of many keys it expects
-- many packs, and reads the keys of all packs there are, which takes seconds where there are thousands. The index takes
-- some microseconds per key. The project is compared afterwards, so that no other index is in question.
create function playhead_find_packs(project int, wanted int[]) returns table (pack bigint, version int)
language sql stable set enable_seqscan = off as $$
    with found as materialized (
        select content_pack.project_id, content_pack.pack, content_pack.version
        from content_pack where content_pack.keys && $2
    )
    select found.pack, found.version from found where found.project_id = $1 order by found.pack
$$;
