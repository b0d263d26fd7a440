-- name: write_runs(project_id, rows)!
-- encrypts: rows.name=run, rows.session=run, rows.user=run, rows.happened.text=run, rows.happened.about=run
-- encrypts: rows.processes.process=run, rows.labels#
-- blanks: rows.search
-- Summaries of runs that are there, as JSON.
update run set
    started_ns = new.started_ns, ended_ns = new.ended_ns, input_tokens = new.input_tokens,
    output_tokens = new.output_tokens, attempt = new.attempt, events = new.events, llm_calls = new.llm_calls,
    tool_calls = new.tool_calls, errors = new.errors, context_peak = new.context_peak,
    compressions = new.compressions, spans_missing = new.spans_missing, content_pending = new.content_pending,
    fork_at = new.fork_at, shared = new.shared, sealed = new.sealed, settled = new.settled,
    projection = new.projection, shared_run = new.shared_run, fork_of = new.fork_of, name = new.name,
    status = new.status, session = new.session, "user" = new."user", labels = new.labels, search = new.search,
    usage = new.usage, continued_by = new.continued_by, processes = new.processes,
    process_count = new.process_count, processes_open = new.processes_open, lost_ns = null, searched = false,
    happened = new.happened
from jsonb_to_recordset(:rows::jsonb) as new (
    run_id uuid, started_ns bigint, ended_ns bigint, input_tokens bigint, output_tokens bigint, attempt int, events int,
    llm_calls int, tool_calls int, errors int, context_peak int, compressions int, spans_missing int,
    content_pending int, fork_at int, shared int, sealed boolean, settled boolean, projection bigint, shared_run uuid,
    fork_of text, name text, status text, session text, "user" text, labels text[], search text, usage jsonb,
    continued_by text[], processes jsonb, process_count int, processes_open int, happened jsonb
)
where run.project_id = :project_id and run.run_id = new.run_id;

-- name: new_projections(how_many)
select nextval('run_projection') from generate_series(1, :how_many::int);

-- name: runs(project_id, runs)
-- decrypts: name=run, session=run, user=run, labels#, happened.text=run, happened.about=run, suspect.reason=run
-- decrypts: processes.process=run
-- Newest first. `parent_missing`: a run above this fork is not here.
select run.*, score_name, score, score_is_boolean, coalesce(waiting, false) as waiting, cost, priced,
    case when fork_of is null then false else (
    with recursive above (run_id, fork_of) as (
        select run.shared_run, run.fork_of
        union
        select parent.shared_run, parent.fork_of
        from above join run as parent on parent.project_id = run.project_id and parent.run_id = above.run_id
    )
    select bool_or(above.fork_of is not null and not exists (
        select from run as there where there.project_id = run.project_id and there.run_id = above.run_id
    )) from above
) end as parent_missing,
    (select count(*) from run as fork where fork.project_id = run.project_id
        and fork.labels @> array['fork_of:' || encode(uuid_send(run.run_id), 'hex')])::int as forks,
    exists (select from pin where pin.project_id = run.project_id and pin.run_id = run.run_id) as pinned
from run left join run_outcome using (project_id, run_id)
where project_id = :project_id and run_id = any(:runs::uuid[])
order by run.started_ns desc, run_id desc;

-- name: run_ids(project_id, search, id_part, since, until, before_started, before_run, how_many)
-- refuses: search
-- Newest first. `search` and `id_part` may be empty; the run that `before_*` names is not among them. It reads nothing but
-- the index `run_started`.
select run_id from run
where project_id = :project_id and started_ns >= :since and started_ns <= :until
    and (started_ns, run_id) < (:before_started, :before_run::uuid)
    and (:search = '' or strpos(search, :search) > 0)
    and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
order by started_ns desc, run_id desc limit :how_many;

-- name: newest_run_ids(project_id, labels, search, id_part, since, until, before_started, before_run, looked, how_many)
-- encrypts: labels#
-- refuses: search
-- Of the newest `looked` runs, those with these labels.
select run_id from (
    select started_ns, run_id, labels, search from run
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
    order by started_ns desc, run_id desc limit :looked
) as newest
where labels @> :labels::text[] and (:search = '' or strpos(search, :search) > 0)
    and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
order by started_ns desc, run_id desc limit :how_many;

-- name: run_ids_with(project_id, labels, search, id_part, since, until, before_started, before_run, how_many)
-- encrypts: labels#
-- refuses: search
-- All runs with these labels. `materialized`, so that it is planned to find all, and not as if the first few were met
-- soon: Postgres does not know how labels occur together.
with found as materialized (
    select started_ns, run_id from run
    where labels @> :labels::text[] and project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (started_ns, run_id) < (:before_started, :before_run::uuid)
        and (:search = '' or strpos(search, :search) > 0)
        and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
)
select run_id from found order by started_ns desc, run_id desc limit :how_many;

-- name: run_ids_scored(project_id, labels, search, id_part, since, until, before_started, before_run, how_many, score_name, score_low, score_high, score_label)
-- encrypts: labels#, score_label~score_label
-- refuses: search
-- `score_*`: what the latest score of the whole run with this name has to be.
with scored as materialized (
    select run_id from score_in_time
    where project_id = :project_id and name = :score_name and span is null and is_latest
        and (:score_low::double precision is null or number >= :score_low)
        and (:score_high::double precision is null or number <= :score_high)
        and (:score_label::text is null or label = :score_label)
),
found as materialized (
    select run.started_ns, run.run_id
    from scored join run on run.project_id = :project_id and run.run_id = scored.run_id
    where run.labels @> :labels::text[] and run.started_ns >= :since and run.started_ns <= :until
        and (run.started_ns, run.run_id) < (:before_started, :before_run::uuid)
        and (:search = '' or strpos(run.search, :search) > 0)
        and (:id_part = '' or strpos(encode(uuid_send(run.run_id), 'hex'), :id_part) > 0)
)
select run_id from found order by started_ns desc, run_id desc limit :how_many;

-- name: sizes()
-- Bytes of each table with its indexes; rows as the planner estimates them, so that asking costs nothing however many.
select relname as name, pg_total_relation_size(oid) as bytes, greatest(reltuples, 0)::bigint as rows
from pg_class
where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'alembic_version';

-- name: ready()$
-- Fails when there is no schema, too.
select count(*) from project;
