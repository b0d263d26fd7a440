-- name: write_outcomes(project_id, rows)!
-- Of runs that were projected just now, as JSON. What was found out about the last projection is looked for again.
insert into run_outcome (
    project_id, run_id, started_ns, elapsed_ns, input_tokens, output_tokens, cost, priced, llm_calls, tool_calls, errors,
    status, undescribed, score_name, score, score_is_boolean, waiting
)
select :project_id, new.*, standing.score_name, standing.score, standing.score_is_boolean, standing.waiting
from jsonb_to_recordset(:rows::jsonb) as new (
    run_id uuid, started_ns bigint, elapsed_ns bigint, input_tokens bigint, output_tokens bigint, cost double precision,
    priced bigint, llm_calls int, tool_calls int, errors int, status text, undescribed boolean
)
join run_standing as standing on standing.project_id = :project_id and standing.run_id = new.run_id
on conflict (project_id, run_id) do update
set started_ns = excluded.started_ns, elapsed_ns = excluded.elapsed_ns, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens, cost = excluded.cost, priced = excluded.priced,
    llm_calls = excluded.llm_calls, tool_calls = excluded.tool_calls, errors = excluded.errors,
    status = excluded.status, undescribed = excluded.undescribed, score_name = excluded.score_name,
    score = excluded.score, score_is_boolean = excluded.score_is_boolean, waiting = excluded.waiting,
    suspects_ns = null;

-- name: refresh_outcomes(project_id, runs)!
-- After a change of their scores or promises. Of a run with another score, suspects are looked for again.
update run_outcome as here
set score_name = standing.score_name, score = standing.score, score_is_boolean = standing.score_is_boolean,
    waiting = standing.waiting,
    suspects_ns = case when here.score is not distinct from standing.score then here.suspects_ns end
from run_standing as standing
where here.project_id = :project_id and here.run_id = any(:runs::uuid[])
    and standing.project_id = here.project_id and standing.run_id = here.run_id;

-- name: lose_outcomes(project_id, runs)!
update run_outcome set status = 'lost' where project_id = :project_id and run_id = any(:runs::uuid[]);

-- name: sorted_run_ids(project_id, sort, sign, labels, any_run, search, id_part, since, until, outcomes, suspect, cost_above, score_name, score_low, score_high, score_label, before_key, before_started, before_run, how_many)
-- encrypts: labels#, score_label~score_label
-- refuses: search
-- By `RunOrder`: `sign` is -1 for the least first. Statements are planned with their values, so that conditions that are
-- not asked for, and `any_run` (no condition on the run's own row), cost nothing. It reads the rows of `run_outcome`, one
-- after another.
select run_id from (
    select started_ns, run_id, coalesce(:sign::double precision * case :sort::text
        when 'attention' then attention::double precision
        when 'started' then case when :sign < 0 then started_ns::double precision else 0 end
        when 'elapsed' then elapsed_ns::double precision
        when 'turns' then llm_calls::double precision
        when 'tool_calls' then tool_calls::double precision
        when 'input_tokens' then input_tokens::double precision
        when 'cost' then cost
        when 'errors' then errors::double precision
        when 'score' then score
    end, '-Infinity') as key
    from run_outcome
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (:outcomes::text[] = '{}' or outcome = any(:outcomes::text[]))
        and (:suspect::int = 0 or (suspect >= :suspect::int and outcome in ('failed', 'crashed')))
        and (:cost_above::double precision is null or cost > :cost_above::double precision)
        and (:any_run::boolean or run_id in (
            select run_id from run
            where project_id = :project_id and labels @> :labels::text[] and (:search = '' or strpos(search, :search) > 0)
                and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
        ))
        and (:score_name::text is null or run_id in (
            select run_id from score_in_time
            where project_id = :project_id and name = :score_name and span is null and is_latest
                and (:score_low::double precision is null or number >= :score_low)
                and (:score_high::double precision is null or number <= :score_high)
                and (:score_label::text is null or label = :score_label)
        ))
) as found
where (key, started_ns, run_id) < (:before_key::double precision, :before_started::bigint, :before_run::uuid)
order by key desc, started_ns desc, run_id desc limit :how_many;

-- name: run_ids_by_attention(project_id, since, until, outcomes, before_key, before_started, before_run, how_many)
-- The same for the order in which most people look at runs, from its index.
select run_id from run_outcome
where project_id = :project_id and started_ns >= :since and started_ns <= :until
    and (:outcomes::text[] = '{}' or outcome = any(:outcomes::text[]))
    and (attention, started_ns, run_id) < (:before_key::smallint, :before_started::bigint, :before_run::uuid)
order by attention desc, started_ns desc, run_id desc limit :how_many;

-- name: overview(project_id, labels, any_run, search, id_part, since, until, outcomes, suspect, cost_above, score_name, score_low, score_high, score_label, steps_ns, steps)
-- encrypts: labels#, score_label~score_label
-- refuses: search
-- The runs of `sorted_run_ids`, by the time of their start and by outcome. `steps_ns`: lengths of steps, of which the first is
-- taken that needs at most `steps` of them.
with found as materialized (
    select started_ns, outcome, score, elapsed_ns, cost, input_tokens, output_tokens from run_outcome
    where project_id = :project_id and started_ns >= :since and started_ns <= :until
        and (:outcomes::text[] = '{}' or outcome = any(:outcomes::text[]))
        and (:suspect::int = 0 or (suspect >= :suspect::int and outcome in ('failed', 'crashed')))
        and (:cost_above::double precision is null or cost > :cost_above::double precision)
        and (:any_run::boolean or run_id in (
            select run_id from run
            where project_id = :project_id and labels @> :labels::text[] and (:search = '' or strpos(search, :search) > 0)
                and (:id_part = '' or strpos(encode(uuid_send(run_id), 'hex'), :id_part) > 0)
        ))
        and (:score_name::text is null or run_id in (
            select run_id from score_in_time
            where project_id = :project_id and name = :score_name and span is null and is_latest
                and (:score_low::double precision is null or number >= :score_low)
                and (:score_high::double precision is null or number <= :score_high)
                and (:score_label::text is null or label = :score_label)
        ))
),
width as (
    select coalesce(min(each) filter (where last / each - first / each < :steps), max(each)) as step
    from unnest(:steps_ns::bigint[]) as each
    cross join (select min(started_ns) as first, max(started_ns) as last from found) as bounds
)
select started_ns / step * step as start_ns, step as step_ns, outcome, count(*)::int as runs,
    (count(score) filter (where elapsed_ns is not null))::int as scored, coalesce(sum(cost), 0) as cost,
    count(cost)::int as priced, sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens,
    min(started_ns) as first_ns, max(started_ns) as last_ns
from found cross join width group by 1, 2, 3 order by 1, 3;

-- name: open_questions(project_id, runs)
-- decrypts: body=promise
-- The oldest open promise of each run.
select distinct on (run_id) run_id, promise_id, body from promise
where project_id = :project_id and run_id = any(:runs::uuid[]) and answered is null and kind <> 'interrupt'
order by run_id, created, promise_id;

-- name: failed_runs(how_many)
-- Ended and projected ones of which no suspects were looked for since, newest first.
select run.project_id, run.run_id, run.projection
from run_outcome as here join run using (project_id, run_id) join run_news using (project_id, run_id)
where here.suspects_ns is null and here.outcome in ('failed', 'crashed') and here.elapsed_ns is not null
    and run_news.dirty_since_ns is null
order by here.started_ns desc limit :how_many;

-- name: lock_projection(project_id, run, projection)$
-- Waits for whoever projects the run now. Null when it has another projection since then.
select projection from run where project_id = :project_id and run_id = :run and projection = :projection for update;

-- name: write_suspect(project_id, run, suspect)!
-- encrypts: suspect.reason=run
update run set suspect = :suspect::jsonb where project_id = :project_id and run_id = :run;

-- name: write_suspect_level(project_id, run, level, looked)!
update run_outcome set suspect = :level, suspects_ns = :looked where project_id = :project_id and run_id = :run;

-- name: undescribed_runs(how_many)
-- decrypts: happened.text=run, happened.about=run
select run.project_id, run.run_id, run.projection, run.happened
from run_outcome as here join run using (project_id, run_id)
where here.undescribed order by here.started_ns desc limit :how_many;

-- name: write_moment(project_id, run, happened)!
-- encrypts: happened.text=run, happened.about=run
update run set happened = :happened::jsonb where project_id = :project_id and run_id = :run;

-- name: is_described(project_id, run)!
update run_outcome set undescribed = false where project_id = :project_id and run_id = :run;

-- name: unpriced_runs(table_number, how_many)
select run.project_id, run.run_id, run.usage
from run_outcome as here join run using (project_id, run_id)
where here.priced is distinct from :table_number limit :how_many;

-- name: write_costs(project_id, table_number, runs, costs)!
-- But for those that were projected meanwhile.
update run_outcome as here set cost = given.cost, priced = :table_number
from unnest(:runs::uuid[], :costs::double precision[]) as given (run_id, cost)
where here.project_id = :project_id and here.run_id = given.run_id and here.priced is distinct from :table_number;
