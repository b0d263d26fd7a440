-- name: write_llm_calls(project, whole, runs, seqs, threads)!
-- Model calls that had a thread as context; what is there already is not written. Of runs that are in `whole`, these are
-- all.
with given as (
    select run_id, seq, thread from unnest(:runs::uuid[], :seqs::int[], :threads::bigint[]) as each (run_id, seq, thread)
),
gone as (
    delete from llm_call
    where project_id = :project and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into llm_call (project_id, run_id, seq, thread)
select :project, run_id, seq, thread from given
on conflict (project_id, run_id, seq) do update set thread = excluded.thread
where llm_call.thread <> excluded.thread;

-- name: calls_with_thread(project, thread, how_many)
-- Newest runs first.
select run_id, seq from llm_call where project_id = :project and thread = :thread
order by run_id desc, seq limit :how_many;
