-- name: run_facts(project_id, labels, search, id_part, since, until, score_name, how_many)
-- encrypts: labels#
-- refuses: search
-- decrypts: name=run, session=run, user=run, labels#, happened.text=run, happened.about=run, suspect.reason=run
-- decrypts: processes.process=run, score_label~score_label
-- Runs that are no forks, newest first, with the latest score of that name of the whole run.
select run.*, false as parent_missing, 0 as forks, false as pinned, scored.number as score_number, scored.label as score_label
from run
left join lateral (
    select number, label from score
    where score.project_id = run.project_id and score.run_id = run.run_id and name = :score_name and span is null
    order by scored_ns desc, score_id desc limit 1
) as scored on true
where project_id = :project_id and fork_of is null and labels @> :labels::text[] and strpos(search, :search) > 0
    and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
    and started_ns >= :since and started_ns <= :until
order by started_ns desc, run_id desc limit :how_many;

-- name: facts_of_runs(project_id, runs, score_name)
-- decrypts: name=run, session=run, user=run, labels#, happened.text=run, happened.about=run, suspect.reason=run
-- decrypts: processes.process=run, score_label~score_label
-- Those of these runs that are no forks, newest first, with their latest score as above.
select run.*, false as parent_missing, 0 as forks, false as pinned, scored.number as score_number, scored.label as score_label
from run
left join lateral (
    select number, label from score
    where score.project_id = run.project_id and score.run_id = run.run_id and name = :score_name and span is null
    order by scored_ns desc, score_id desc limit 1
) as scored on true
where project_id = :project_id and run_id = any(:runs::uuid[]) and fork_of is null
order by started_ns desc, run_id desc;

-- name: tool_steps(project_id, runs)
select run_id, array_agg(tool order by seq) as tools, array_agg(outcome order by seq) as outcomes,
    array_agg(seq order by seq) as seqs
from tool_call where project_id = :project_id and run_id = any(:runs::uuid[]) group by run_id;

-- name: last_errors(project_id, runs)
select distinct on (run_id) run_id, seq, error_type, about
from error where project_id = :project_id and run_id = any(:runs::uuid[]) order by run_id, seq desc;
