-- name: has_search_language(language)$
select exists (select from pg_ts_config where pg_ts_config_is_visible(oid) and cfgname = :language);

-- name: lock_search_language(project_id)^
select search_language from project where project_id = :project_id for update;

-- name: set_search_language(project_id, language)!
update project set search_language = :language where project_id = :project_id;

-- name: clear_search(project_id)!
with runs as (delete from search_run where project_id = :project_id),
blocks as (delete from search_block where project_id = :project_id)
update run set searched = false where project_id = :project_id and searched;

-- name: unindexed_runs(how_many)
select project_id, run_id from run where sealed and not searched limit :how_many;

-- name: count_unindexed(project_id, how_many)$
select count(*) from (
    select from run where project_id = :project_id and sealed and not searched limit :how_many
) as unindexed;

-- name: mark_searched(project_id, run)$
-- Whether the run is there, and sealed. Its row stays locked: it is neither projected nor deleted meanwhile.
update run set searched = true where project_id = :project_id and run_id = :run and sealed returning true;

-- name: seen_by(project_id, runs)
select seen from search_run where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: index_run(project_id, run, started, terms, seen, body)!
insert into search_run (project_id, run_id, started_ns, terms, seen, body)
values (:project_id, :run, :started, :terms, :seen, :body)
on conflict (project_id, run_id) do update
set started_ns = excluded.started_ns, terms = excluded.terms, seen = excluded.seen, body = excluded.body;

-- name: set_returned_errors(project_id, run, seqs, outcomes)!
-- Of calls that returned: completed (1), or with a result that reports an error (4).
update tool_call set outcome = given.outcome
from unnest(:seqs::int[], :outcomes::smallint[]) as given (seq, outcome)
where tool_call.project_id = :project_id and tool_call.run_id = :run and tool_call.seq = given.seq
    and tool_call.outcome in (1, 4) and tool_call.outcome <> given.outcome;

-- name: forget_searched_runs(project_id, runs)
delete from search_run where project_id = :project_id and run_id = any(:runs) returning seen;

-- name: runs_with_keys(project_id, keys, how_many)
-- So many runs for each of the keys.
select given.key, run.run_id
from unnest(:keys::int[]) as given (key)
cross join lateral (
    with found as materialized (
        select run_id from search_run where terms @> array[given.key] and project_id = :project_id
    )
    select run_id from found limit :how_many
) as run;

-- name: lock_blocks(project_id)$
-- Until the transaction ends, nobody else indexes runs of the project: no content comes into two blocks.
select pg_advisory_xact_lock(hashtext('playhead.search'), :project_id);

-- name: small_block(project_id)^
-- The newest that is less than half full.
select block, terms, body from search_block where project_id = :project_id and contents < 32
order by block desc limit 1;

-- name: blocks(project_id, blocks)
select block, terms, body from search_block where project_id = :project_id and block = any(:blocks::bigint[]);

-- name: insert_block(project_id, oldest, newest, contents, terms, body)$
insert into search_block (oldest_ns, newest_ns, project_id, contents, terms, body)
values (:oldest, :newest, :project_id, :contents, :terms, :body) returning block;

-- name: update_block(project_id, block, oldest, newest, contents, terms, body)!
update search_block
set oldest_ns = :oldest, newest_ns = :newest, contents = :contents, terms = :terms, body = :body
where project_id = :project_id and block = :block;

-- name: delete_block(project_id, block)!
delete from search_block where project_id = :project_id and block = :block;

-- name: newest_indexed(project_id, terms, since, until, before_started, before_run, looked, how_many)
select run_id, started_ns, body from (
    select * from search_run
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
    order by started_ns desc, run_id desc limit :looked
) as newest
where terms @> :terms::int[]
order by started_ns desc, run_id desc limit :how_many;

-- name: indexed_with(project_id, terms, since, until, before_started, before_run, how_many)
-- `materialized`, so that it is planned to find all, and not as if the first few were met soon.
with found as materialized (
    select started_ns, run_id from search_run
    where terms @> :terms::int[] and project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
),
page as (
    select * from found order by started_ns desc, run_id desc limit :how_many
)
select page.run_id, page.started_ns, search_run.body
from page cross join lateral (
    select body from search_run where project_id = :project_id and run_id = page.run_id offset 0
) as search_run
order by page.started_ns desc, page.run_id desc;

-- name: runs_that_saw(project_id, keys, how_many)
select given.key, run.run_id, run.started_ns, run.seen
from unnest(:keys::int[]) as given (key)
cross join lateral (
    with found as materialized (
        select run_id, started_ns, seen from search_run where terms @> array[given.key] and project_id = :project_id
    )
    select * from found limit :how_many
) as run;

-- name: lexemes(language, words)
-- An empty one for what the language leaves out. Of several, the first.
select word, coalesce((select min(lexeme) from unnest(to_tsvector(:language::text::regconfig, word))), '') as lexeme
from unnest(:words::text[]) as given (word);

-- name: newest_blocks(project_id, wanted, since, before_since, looked)
-- `places`: where the wanted terms stand among those of the block, null for those that it does not have.
select block, newest_ns, cardinality(terms) as terms, body,
    array(
        select array_position(terms, term) from unnest(:wanted::int[]) with ordinality as each (term, n) order by n
    ) as places
from (
    select block, newest_ns, terms, body from search_block
    where project_id = :project_id and newest_ns >= :since and oldest_ns <= :before_since
    order by newest_ns desc, block desc limit :looked
) as newest
order by newest_ns desc, block desc;

-- name: blocks_with(project_id, wanted, since, before_since, before_newest, before_block, how_many)
-- Newest first, after the block that is named. `wanted`: arrays of terms, written as texts; a block has all terms of one.
-- Each array is looked up by itself, in the index of terms alone.
with found as materialized (
    select each.* from unnest(:wanted::text[]) as given (terms)
    cross join lateral (
        select project_id, block, oldest_ns, newest_ns from search_block
        where search_block.terms @> given.terms::int[] offset 0
    ) as each
)
select distinct newest_ns, block from found
where project_id = :project_id and newest_ns >= :since and oldest_ns <= :before_since
    and (newest_ns, block) < (:before_newest, :before_block)
order by newest_ns desc, block desc limit :how_many;

-- name: read_blocks(project_id, wanted, blocks)
-- As `newest_blocks`.
select block, newest_ns, cardinality(terms) as terms, body,
    array(
        select array_position(terms, term) from unnest(:wanted::int[]) with ordinality as each (term, n) order by n
    ) as places
from search_block
where project_id = :project_id and block = any(:blocks::bigint[]);
