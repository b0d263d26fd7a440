-- name: scorers(project_id)
-- decrypts: selection.where.session=scorer, selection.where.user=scorer, selection.where.tag=scorer
select * from scorer where project_id = :project_id order by name;

-- name: scorers_in_use()
-- decrypts: selection.where.session=scorer, selection.where.user=scorer, selection.where.tag=scorer
select scorer.* from scorer join project using (project_id) where enabled and deleted_at is null
order by project_id, scorer_id;

-- name: set_scorer(project_id, name, enabled, definition, selection, labels, search, now)^
-- encrypts: labels#, selection.where.session=scorer, selection.where.user=scorer, selection.where.tag=scorer
-- decrypts: selection.where.session=scorer, selection.where.user=scorer, selection.where.tag=scorer
-- refuses: search
insert into scorer (created_ns, project_id, enabled, name, definition, selection, labels, search)
values (:now, :project_id, :enabled, :name, :definition::jsonb, :selection::jsonb, :labels, :search)
on conflict (project_id, name) do update
set enabled = excluded.enabled, definition = excluded.definition, selection = excluded.selection,
    labels = excluded.labels, search = excluded.search,
    version = scorer.version + case when scorer.definition = excluded.definition then 0 else 1 end
returning *;

-- name: delete_scorer(project_id, name)$
with gone as (delete from scorer where project_id = :project_id and name = :name returning scorer_id),
due as (delete from scoring_due where project_id = :project_id and scorer_id in (select scorer_id from gone)),
days as (delete from scorer_day where project_id = :project_id and scorer_id in (select scorer_id from gone))
select scorer_id from gone;

-- name: write_backfill(project_id, scorer, backfill)!
update scorer set backfill = :backfill::jsonb where project_id = :project_id and scorer_id = :scorer;

-- name: stop_scorer_backfill(project_id, scorer)!
with due as (
    delete from scoring_due where project_id = :project_id and scorer_id = :scorer and backfill and not given_up
)
update scorer set backfill = jsonb_set(backfill, '{state}', '"stopped"')
where project_id = :project_id and scorer_id = :scorer and backfill ->> 'state' = 'running';

-- name: scorer_counts(project_id, scorer, since)^
-- Of the days from `since` on.
select coalesce(sum(begun), 0)::bigint as begun, coalesce(sum(scored), 0)::bigint as scored,
    coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(not_sampled), 0)::bigint as not_sampled,
    coalesce(sum(over_budget), 0)::bigint as over_budget, coalesce(sum(tokens), 0)::bigint as tokens,
    coalesce(sum(cost), 0) as cost
from scorer_day where project_id = :project_id and scorer_id = :scorer and day >= :since;

-- name: count_due_scorings(project_id, scorer)$
select count(*) from scoring_due where project_id = :project_id and scorer_id = :scorer and not given_up;

-- name: failed_scorings(project_id, scorer, how_many)
-- decrypts: error=scoring
select run_id, error from scoring_due where project_id = :project_id and scorer_id = :scorer and given_up
order by due_ns desc, run_id limit :how_many;

-- name: take_arrived_runs(how_many)
-- Sealed runs of projects that have scorers.
with arrived as (
    select project_id, run_id from run where sealed and scorers_due limit :how_many for update skip locked
)
update run set scorers_due = false from arrived
where run.project_id = arrived.project_id and run.run_id = arrived.run_id
returning run.project_id, run.run_id;

-- name: scorers_of_runs(project_id, runs, judge)
-- Which scorers these runs meet the conditions of. `judge`: the label of runs that judge others.
select scorer.scorer_id, scorer.name, (scorer.selection ->> 'sample')::double precision as sample, run.run_id
from scorer join run on run.project_id = scorer.project_id and run.run_id = any(:runs::uuid[])
where scorer.project_id = :project_id and scorer.enabled and run.labels @> scorer.labels
    and (scorer.search = '' or strpos(run.search, scorer.search) > 0) and not run.labels @> array[:judge::text];

-- name: add_due_scorings(project_id, scorers, runs, backfill, now)
-- But for runs that have a score of this version already, for all the events that they have now.
insert into scoring_due (scorer_id, due_ns, run_id, project_id, backfill)
select scorer.scorer_id, :now, run.run_id, :project_id, :backfill
from unnest(:scorers::bigint[], :runs::uuid[]) as given (scorer_id, run_id)
join scorer on scorer.scorer_id = given.scorer_id
join run on run.project_id = :project_id and run.run_id = given.run_id
where not exists (
    select from score where score.project_id = :project_id and score.run_id = run.run_id
        and score.score_id = format('scorer:%s:%s:%s', scorer.scorer_id, scorer.version, run.events)
)
on conflict (project_id, scorer_id, run_id) do update
set due_ns = excluded.due_ns, attempts = 0, backfill = excluded.backfill, given_up = false, error = null
where scoring_due.given_up
returning run_id;

-- name: lock_backfill(most_waiting)^
-- decrypts: selection.where.session=scorer, selection.where.user=scorer, selection.where.tag=scorer
-- A pass that goes on, and that nobody else works on now.
select * from scorer
where enabled and backfill ->> 'state' = 'running' and (
    select count(*) from (
        select from scoring_due
        where scoring_due.project_id = scorer.project_id and scoring_due.scorer_id = scorer.scorer_id
            and scoring_due.backfill and not given_up
        limit :most_waiting
    ) as waiting
) < :most_waiting
order by random() limit 1 for update skip locked;

-- name: runs_to_backfill(project_id, labels, search, judge, since, until, before_started, before_run, how_many)
-- Sealed ones; others are noted when they are sealed.
select run_id, started_ns, sealed and labels @> :labels::text[] and (:search = '' or strpos(search, :search) > 0)
    and not labels @> array[:judge::text] as fits
from run
where project_id = :project_id and started_ns >= :since and started_ns <= :until
    and (started_ns, run_id) < (:before_started, :before_run::uuid)
order by started_ns desc, run_id desc limit :how_many;

-- name: take_due_scorings(project_id, how_many, now, lease_until)
with picked as (
    select project_id, scorer_id, run_id from scoring_due
    where project_id = :project_id and not given_up and due_ns <= :now
        and scorer_id in (select scorer_id from scorer where scorer.project_id = :project_id and enabled)
    order by backfill, due_ns limit :how_many for update skip locked
)
update scoring_due as due set due_ns = :lease_until, attempts = attempts + 1 from picked
where due.project_id = picked.project_id and due.scorer_id = picked.scorer_id and due.run_id = picked.run_id
returning due.scorer_id, due.project_id, due.run_id, due.attempts, due.backfill;

-- name: begin_scoring(project_id, scorer, day, runs, tokens, cost)$
-- Null when a budget is used up; limits that are null are none.
insert into scorer_day as here (scorer_id, begun, project_id, day) values (:scorer, 1, :project_id, :day)
on conflict (project_id, scorer_id, day) do update set begun = here.begun + 1
where (:runs::bigint is null or here.begun < :runs) and (:tokens::bigint is null or here.tokens < :tokens)
    and (:cost::double precision is null or here.cost < :cost)
returning begun;

-- name: count_scoring(project_id, scorer, day, scored, failed, not_sampled, over_budget, tokens, cost)!
-- Nothing for a scorer that was deleted meanwhile.
insert into scorer_day as here (
    scorer_id, scored, failed, not_sampled, over_budget, tokens, cost, project_id, day
)
select scorer_id, :scored, :failed, :not_sampled, :over_budget, :tokens, :cost, project_id, :day
from scorer where project_id = :project_id and scorer_id = :scorer
on conflict (project_id, scorer_id, day) do update
set scored = here.scored + excluded.scored, failed = here.failed + excluded.failed,
    not_sampled = here.not_sampled + excluded.not_sampled, over_budget = here.over_budget + excluded.over_budget,
    tokens = here.tokens + excluded.tokens, cost = here.cost + excluded.cost;

-- name: finish_scoring(project_id, scorer, run, events)!
-- A run to which something came meanwhile is scored again.
with gone as (
    delete from scoring_due as due
    where project_id = :project_id and scorer_id = :scorer and run_id = :run and not exists (
        select from run where run.project_id = due.project_id and run.run_id = due.run_id and run.events <> :events
    )
    returning run_id
)
update scoring_due set due_ns = 0, attempts = 0
where project_id = :project_id and scorer_id = :scorer and run_id = :run and not exists (select from gone);

-- name: drop_scoring(project_id, scorer, run)!
delete from scoring_due where project_id = :project_id and scorer_id = :scorer and run_id = :run;

-- name: fail_scoring(project_id, scorer, run, error, due, given_up)!
-- encrypts: error=scoring
update scoring_due set error = :error, due_ns = :due, given_up = :given_up
where project_id = :project_id and scorer_id = :scorer and run_id = :run;

-- name: postpone_scoring(project_id, scorer, run, due)!
update scoring_due set due_ns = :due, attempts = greatest(attempts - 1, 0)
where project_id = :project_id and scorer_id = :scorer and run_id = :run;
