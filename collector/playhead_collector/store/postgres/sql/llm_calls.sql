-- name: write_llm_calls(project_id, whole, runs, seqs, threads)!
-- Model calls that had a thread as context; what is there already is not written. Of runs that are in `whole`, these are
-- all.
with given as (
    select run_id, seq, thread from unnest(:runs::uuid[], :seqs::int[], :threads::bigint[]) as each (run_id, seq, thread)
),
gone as (
    delete from llm_call
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into llm_call (project_id, run_id, seq, thread)
select :project_id, run_id, seq, thread from given
on conflict (project_id, run_id, seq) do update set thread = excluded.thread
where llm_call.thread <> excluded.thread;

-- name: calls_with_thread(project_id, thread, how_many)
-- Newest runs first.
select run_id, seq from llm_call where project_id = :project_id and thread = :thread
order by run_id desc, seq limit :how_many;

-- name: runs_with_same_context(project_id, runs, afters, uptos, without, how_many)
-- Of each other run the last call of this one that had the same context there; those that have most in common first.
-- `runs`, `afters` and `uptos` are the parts of this run's record; `without` are runs that are not looked for.
select run_id, seq, here from (
    select distinct on (other.run_id) other.run_id, other.seq, mine.seq as here
    from unnest(:runs::uuid[], :afters::int[], :uptos::int[]) as part (run_id, after, upto)
    cross join lateral (
        select seq, thread from llm_call
        where project_id = :project_id and run_id = part.run_id and seq > part.after and seq <= part.upto
        offset 0
    ) as mine
    cross join lateral (
        select run_id, seq from llm_call
        where project_id = :project_id and thread = mine.thread and run_id <> all(:without::uuid[])
        order by run_id desc, seq limit :how_many
    ) as other
    order by other.run_id, mine.seq desc, other.seq
) as found
order by here desc, run_id limit :how_many;
