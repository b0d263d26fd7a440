-- name: write_run(project, run, started_ns, ended_ns, input_tokens, output_tokens, attempt, events, llm_calls, tool_calls, errors, context_peak, compressions, spans_missing, content_pending, fork_at, sealed, fork_of, name, status, session, user, labels, search)!
update run set
    started_ns = :started_ns, ended_ns = :ended_ns, input_tokens = :input_tokens, output_tokens = :output_tokens,
    attempt = :attempt, events = :events, llm_calls = :llm_calls, tool_calls = :tool_calls, errors = :errors,
    context_peak = :context_peak, compressions = :compressions, spans_missing = :spans_missing,
    content_pending = :content_pending, fork_at = :fork_at, sealed = :sealed, fork_of = :fork_of, name = :name,
    status = :status, session = :session, "user" = :user, labels = :labels, search = :search
where project_id = :project and run_id = :run;

-- name: run(project, run)^
select * from run where project_id = :project and run_id = :run;

-- name: runs(project, labels, search, since, until, before_started, before_run, how_many)
-- Newest first. `labels` and `search` may be empty; the row that `before_*` names is not among them.
select * from run
where project_id = :project and labels @> :labels::text[] and strpos(search, :search) > 0
    and started_ns >= :since and started_ns <= :until
    and (started_ns, run_id) < (:before_started, :before_run::uuid)
order by started_ns desc, run_id desc limit :how_many;

-- name: sizes(project)
-- Rows are of the project; bytes of the whole table, with its indexes.
select 'content' as name, pg_total_relation_size('content') as bytes, (select count(*) from content where project_id = :project) as rows
union all select 'media_type', pg_total_relation_size('media_type'), (select count(*) from media_type where project_id = :project)
union all select 'dictionary', pg_total_relation_size('dictionary'), (select count(*) from dictionary where project_id = :project)
union all select 'thread_node', pg_total_relation_size('thread_node'), (select count(*) from thread_node where project_id = :project)
union all select 'thread_orphan', pg_total_relation_size('thread_orphan'), (select count(*) from thread_orphan where project_id = :project)
union all select 'span_page', pg_total_relation_size('span_page'), (select count(*) from span_page where project_id = :project)
union all select 'pending_ref', pg_total_relation_size('pending_ref'), (select count(*) from pending_ref where project_id = :project)
union all select 'run_news', pg_total_relation_size('run_news'), (select count(*) from run_news where project_id = :project)
union all select 'run', pg_total_relation_size('run'), (select count(*) from run where project_id = :project)
union all select 'event_page', pg_total_relation_size('event_page'), (select count(*) from event_page where project_id = :project)
union all select 'llm_call', pg_total_relation_size('llm_call'), (select count(*) from llm_call where project_id = :project)
union all select 'run_snapshot', pg_total_relation_size('run_snapshot'), (select count(*) from run_snapshot where project_id = :project);

-- name: ready()$
-- Fails when there is no schema, too.
select count(*) from project;
