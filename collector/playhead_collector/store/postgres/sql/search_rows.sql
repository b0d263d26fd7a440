-- name: write_tool_calls(project_id, whole, runs, seqs, times, tools, agents, outcomes, calls)!
-- Tool calls of runs; what is there already is not written. Of runs that are in `whole`, these are all.
with given as (
    select run_id, seq, time_ns, tool, agent, outcome, call
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :tools::int[], :agents::int[], :outcomes::smallint[],
        :calls::bigint[]
    ) as each (run_id, seq, time_ns, tool, agent, outcome, call)
),
gone as (
    delete from tool_call
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into tool_call (project_id, run_id, seq, time_ns, tool, agent, outcome, call)
select :project_id, run_id, seq, time_ns, tool, agent, outcome, call from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, tool = excluded.tool, agent = excluded.agent, outcome = excluded.outcome,
    call = excluded.call
where (tool_call.time_ns, tool_call.tool, tool_call.agent, tool_call.outcome, tool_call.call)
    is distinct from (excluded.time_ns, excluded.tool, excluded.agent, excluded.outcome, excluded.call);

-- name: end_tool_calls(project_id, runs, calls, outcomes)!
-- Calls of these spans ended, that were open when they were written.
update tool_call set outcome = ended.outcome, call = null
from unnest(:runs::uuid[], :calls::bigint[], :outcomes::smallint[]) as ended (run_id, call, outcome)
where tool_call.project_id = :project_id and tool_call.run_id = ended.run_id and tool_call.call = ended.call;

-- name: write_decisions(project_id, whole, runs, seqs, times, kinds, agents, abouts, outcomes)!
with given as (
    select run_id, seq, time_ns, kind, agent, about, outcome
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :kinds::smallint[], :agents::int[], :abouts::int[],
        :outcomes::smallint[]
    ) as each (run_id, seq, time_ns, kind, agent, about, outcome)
),
gone as (
    delete from decision
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into decision (project_id, run_id, seq, time_ns, kind, agent, about, outcome)
select :project_id, run_id, seq, time_ns, kind, agent, about, outcome from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, kind = excluded.kind, agent = excluded.agent, about = excluded.about,
    outcome = excluded.outcome
where (decision.time_ns, decision.kind, decision.agent, decision.about, decision.outcome)
    is distinct from (excluded.time_ns, excluded.kind, excluded.agent, excluded.about, excluded.outcome);

-- name: write_errors(project_id, whole, runs, seqs, times, kinds, types, agents, abouts)!
with given as (
    select run_id, seq, time_ns, kind, error_type, agent, about
    from unnest(
        :runs::uuid[], :seqs::int[], :times::bigint[], :kinds::smallint[], :types::int[], :agents::int[],
        :abouts::int[]
    ) as each (run_id, seq, time_ns, kind, error_type, agent, about)
),
gone as (
    delete from error
    where project_id = :project_id and run_id = any(:whole) and (run_id, seq) not in (select run_id, seq from given)
)
insert into error (project_id, run_id, seq, time_ns, kind, error_type, agent, about)
select :project_id, run_id, seq, time_ns, kind, error_type, agent, about from given
on conflict (project_id, run_id, seq) do update
set time_ns = excluded.time_ns, kind = excluded.kind, error_type = excluded.error_type, agent = excluded.agent,
    about = excluded.about
where (error.time_ns, error.kind, error.error_type, error.agent, error.about)
    is distinct from (excluded.time_ns, excluded.kind, excluded.error_type, excluded.agent, excluded.about);
