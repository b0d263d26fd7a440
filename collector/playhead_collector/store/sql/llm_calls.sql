-- name: write_llm_calls(project, run, seqs, threads)!
-- All model calls of a run that had a thread as context; nothing is written when they are there already.
with given as (
    select seq, thread from unnest(:seqs::int[], :threads::bigint[]) as each (seq, thread)
),
gone as (
    delete from llm_call
    where project_id = :project and run_id = :run and seq not in (select seq from given)
)
insert into llm_call (project_id, run_id, seq, thread)
select :project, :run, seq, thread from given
on conflict (project_id, run_id, seq) do update set thread = excluded.thread
where llm_call.thread <> excluded.thread;

-- name: calls_with_thread(project, thread, how_many)
-- Newest runs first.
select run_id, seq from llm_call where project_id = :project and thread = :thread
order by run_id desc, seq limit :how_many;
