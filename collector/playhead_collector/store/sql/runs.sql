-- name: write_run(project, run, started_ns, ended_ns, input_tokens, output_tokens, attempt, events, llm_calls, tool_calls, errors, context_peak, compressions, spans_missing, content_pending, fork_at, shared, sealed, shared_run, fork_of, name, status, session, user, labels, search, usage)!
update run set
    started_ns = :started_ns, ended_ns = :ended_ns, input_tokens = :input_tokens, output_tokens = :output_tokens,
    attempt = :attempt, events = :events, llm_calls = :llm_calls, tool_calls = :tool_calls, errors = :errors,
    context_peak = :context_peak, compressions = :compressions, spans_missing = :spans_missing,
    content_pending = :content_pending, fork_at = :fork_at, shared = :shared, sealed = :sealed,
    shared_run = :shared_run, fork_of = :fork_of, name = :name,
    status = :status, session = :session, "user" = :user, labels = :labels, search = :search,
    usage = :usage
where project_id = :project and run_id = :run;

-- name: run(project, run)^
-- `parent_missing`: a run above this fork is not here.
select *, case when fork_of is null then false else (
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
        and fork.labels @> array['fork_of:' || replace(run.run_id::text, '-', '')])::int as forks
from run
where project_id = :project and run_id = :run;

-- name: runs(project, labels, search, id_part, since, until, before_started, before_run, how_many)
-- Newest first. `labels`, `search` and `id_part` may be empty; the row that `before_*` names is not among them.
select *, case when fork_of is null then false else (
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
        and fork.labels @> array['fork_of:' || replace(run.run_id::text, '-', '')])::int as forks
from run
where project_id = :project and labels @> :labels::text[] and strpos(search, :search) > 0
    and (:id_part = '' or strpos(replace(run_id::text, '-', ''), :id_part) > 0)
    and started_ns >= :since and started_ns <= :until
    and (started_ns, run_id) < (:before_started, :before_run::uuid)
order by started_ns desc, run_id desc limit :how_many;

-- name: sizes()
-- Bytes of each table with its indexes; rows as the planner estimates them, so that asking costs nothing however many.
select relname as name, pg_total_relation_size(oid) as bytes, greatest(reltuples, 0)::bigint as rows
from pg_class
where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'alembic_version';

-- name: ready()$
-- Fails when there is no schema, too.
select count(*) from project;
