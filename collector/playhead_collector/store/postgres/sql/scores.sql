-- name: add_score(project_id, run, score_id, scored_ns, name, number, is_boolean, label, span, source, author, api_key, comment)^
-- encrypts: label~score_label, author=score, comment=score
-- Nothing when there is no such run, or when it has a score with this id.
insert into score (
    project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, author, api_key, comment
)
select :project_id, run_id, :score_id,
    coalesce(:scored_ns::bigint, (extract(epoch from clock_timestamp()) * 1000000000)::bigint), :name,
    :number::double precision, :is_boolean, :label, :span, :source, :author, :api_key, :comment
from run where project_id = :project_id and run_id = :run
on conflict (project_id, run_id, score_id) do nothing
returning score_id;

-- name: score(project_id, run, score_id)^
-- decrypts: label~score_label, author=score, comment=score
select * from score_in_time where project_id = :project_id and run_id = :run and score_id = :score_id;

-- name: posted_scores(project_id, run)
-- decrypts: label~score_label, author=score, comment=score
select * from score_in_time where project_id = :project_id and run_id = :run and source = 'api';

-- name: scores(project_id, run, name, source, latest, since, until, before_ns, before_run, before_id, how_many)
-- decrypts: label~score_label, author=score, comment=score
-- Newest first; the row that `before_*` names is not among them.
select * from score_in_time
where project_id = :project_id and (:run::uuid is null or run_id = :run) and (:name::text is null or name = :name)
    and (:source::text is null or source = :source) and scored_ns >= :since and scored_ns <= :until
    and (scored_ns, run_id, score_id) < (:before_ns, :before_run::uuid, :before_id) and (is_latest or not :latest)
order by scored_ns desc, run_id desc, score_id desc limit :how_many;

-- name: scores_of_runs(project_id, runs)
-- decrypts: label~score_label, author=score, comment=score
-- The latest score of each name of these runs as wholes, newest first.
select * from score_in_time
where project_id = :project_id and run_id = any(:runs::uuid[]) and span is null and is_latest
order by scored_ns desc, score_id desc;

-- name: write_recorded_scores(project_id, rows)!
-- encrypts: rows.label~score_label, rows.comment=score
-- Scores of events, as JSON.
insert into score (
    project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, comment, explanation
)
select :project_id, run_id, score_id, scored_ns, name, number, is_boolean, label, span, source, comment,
    decode(explanation, 'hex')
from jsonb_to_recordset(:rows::jsonb) as new (
    run_id uuid, score_id text, scored_ns bigint, name text, number double precision, is_boolean boolean, label text,
    span text, source text, comment text, explanation text
)
on conflict (project_id, run_id, score_id) do update
set scored_ns = excluded.scored_ns, name = excluded.name, number = excluded.number, is_boolean = excluded.is_boolean,
    label = excluded.label, span = excluded.span, source = excluded.source, comment = excluded.comment,
    explanation = excluded.explanation;
