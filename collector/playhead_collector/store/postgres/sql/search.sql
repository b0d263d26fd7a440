-- name: has_search_language(language)$
select exists (select from pg_ts_config where pg_ts_config_is_visible(oid) and cfgname = :language);

-- name: lock_search_language(project_id)^
select search_language from project where project_id = :project_id for update;

-- name: set_search_language(project_id, language)!
update project set search_language = :language where project_id = :project_id;

-- name: clear_search(project_id)!
with runs as (delete from search_run where project_id = :project_id),
texts as (delete from search_text where project_id = :project_id)
update run set searched = false where project_id = :project_id and searched;

-- name: unindexed_runs(how_many)
select project_id, run_id from run where sealed and not searched limit :how_many;

-- name: count_unindexed(project_id, how_many)$
select count(*) from (
    select from run where project_id = :project_id and sealed and not searched limit :how_many
) as unindexed;

-- name: indexed_texts(project_id, refs)
select ref from search_text
where project_id = :project_id and key = any(array(select playhead_key(ref) from unnest(:refs::bytea[]) as given (ref)))
    and ref = any(:refs);

-- name: mark_searched(project_id, run)$
-- Whether the run is there, and sealed. Its row stays locked: it is neither projected nor deleted meanwhile.
update run set searched = true where project_id = :project_id and run_id = :run and sealed returning true;

-- name: index_run(project_id, run, started, terms, seen, body)!
insert into search_run (project_id, run_id, started_ns, terms, seen, body)
values (:project_id, :run, :started, :terms, :seen, :body)
on conflict (project_id, run_id) do update
set started_ns = excluded.started_ns, terms = excluded.terms, seen = excluded.seen, body = excluded.body;

-- name: index_texts(project_id, language, since, refs, roles, texts)!
-- In one order, so that transactions with the same texts wait for each other, never in a circle.
insert into search_text (since_ns, project_id, key, role, ref, words)
select :since, :project_id, playhead_key(ref), role, ref, to_tsvector(:language::text::regconfig, text)
from unnest(:refs::bytea[], :roles::smallint[], :texts::text[]) as given (ref, role, text)
order by ref
on conflict (project_id, key, ref) do nothing;

-- name: set_returned_errors(project_id, run, seqs, outcomes)!
-- Of calls that returned: completed (1), or with a result that reports an error (4).
update tool_call set outcome = given.outcome
from unnest(:seqs::int[], :outcomes::smallint[]) as given (seq, outcome)
where tool_call.project_id = :project_id and tool_call.run_id = :run and tool_call.seq = given.seq
    and tool_call.outcome in (1, 4) and tool_call.outcome <> given.outcome;

-- name: forget_searched_runs(project_id, runs)!
-- With the texts that no other run has.
with gone as (
    delete from search_run where project_id = :project_id and run_id = any(:runs) returning seen
),
keys as (
    select distinct key from gone cross join lateral unnest(gone.seen) as each (key)
)
delete from search_text using keys
where search_text.project_id = :project_id and search_text.key = keys.key
    and not exists (
        select from search_run
        where project_id = :project_id and seen @> array[keys.key] and run_id <> all(:runs::uuid[])
    );

-- name: forget_searched_texts(project_id, refs)!
delete from search_text
where project_id = :project_id and key = any(array(select playhead_key(ref) from unnest(:refs::bytea[]) as given (ref)))
    and ref = any(:refs);

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
select given.key, run.run_id, run.started_ns, run.body
from unnest(:keys::int[]) as given (key)
cross join lateral (
    with found as materialized (
        select run_id, started_ns, body from search_run where seen @> array[given.key] and project_id = :project_id
    )
    select * from found limit :how_many
) as run;

-- name: parsed_words(language, query)^
-- `needed` is what an index can look for: 'T' or nothing where any text may fit.
select query::text as words, querytree(query) as needed
from websearch_to_tsquery(:language::text::regconfig, :query) as query;

-- name: newest_texts(project_id, words, role, since, until, before_since, before_ref, looked, how_many)
-- `words` is a parsed query: parsing it here would be done again for each row that is looked through.
select ref, since_ns, role from (
    select * from search_text
    where project_id = :project_id and since_ns >= :since and since_ns <= :until
        and (since_ns, ref) < (:before_since, :before_ref::bytea)
    order by since_ns desc, ref desc limit :looked
) as newest
where words @@ :words::text::tsquery
    and (:role::smallint is null or role = :role)
order by since_ns desc, ref desc limit :how_many;

-- name: texts_with(project_id, words, role, since, until, before_since, before_ref, how_many)
with found as materialized (
    select ref, since_ns, role from search_text
    where words @@ :words::text::tsquery
        and project_id = :project_id and since_ns >= :since and since_ns <= :until
        and (since_ns, ref) < (:before_since, :before_ref::bytea)
        and (:role::smallint is null or role = :role)
)
select ref, since_ns, role from found order by since_ns desc, ref desc limit :how_many;

-- name: searched_text(project_id, ref)
select ref, since_ns, role from search_text
where project_id = :project_id and key = playhead_key(:ref::bytea) and ref = :ref::bytea;

-- name: marked_words(language, words, texts, options)
select ts_headline(:language::text::regconfig, text, :words::text::tsquery, :options) as marked
from unnest(:texts::text[]) with ordinality as given (text, n)
order by n;
