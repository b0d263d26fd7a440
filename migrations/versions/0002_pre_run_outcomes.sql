-- What came of each run, and what happened in it: for lists that are filtered and sorted by that.

-- What happened: {"kind", "seq", "turn", "about", "text", "ref", "promise"}, as the projection says; null: nothing that is
-- worth a line, or a version before this one projected the run.
alter table run add column happened jsonb;
-- The step of a failed run that most likely went wrong, {"strength", "rule", "reason", "seq", "turn", "found_ns"}.
alter table run add column suspect jsonb;


-- By what runs are sorted and counted. A row for each run, narrow, so that all of them are read in some
-- milliseconds; and apart from `run`, whose row is locked as long as a projection takes: a score and the answer of a person
-- do not wait for that.
create table run_outcome (
    started_ns      bigint not null,
    elapsed_ns      bigint,             -- null: it has not ended
    input_tokens    bigint not null default 0,
    output_tokens   bigint not null default 0,
    cost            double precision,   -- null: no price is known
    priced          bigint,             -- the table of prices with which it was computed; null: none yet
    -- The newest score of the run as a whole that is a number, or a boolean as 1 or 0.
    score           double precision,
    -- When suspects were looked for; null: they are to be, if the run has failed.
    suspects_ns     bigint,
    project_id      int not null,
    llm_calls       int not null default 0,
    tool_calls      int not null default 0,
    errors          int not null default 0,
    suspect         smallint not null default 0,        -- the first one: 1 weak, 2 likely, 3 strong; 0: none is known
    score_is_boolean boolean not null default false,
    waiting         boolean not null default false,     -- for an answer
    undescribed     boolean not null default false,     -- what happened is to be read, in the background
    run_id          uuid not null,
    status          text not null,
    score_name      text,
    outcome         text not null generated always as (
        case
            when status = 'failed' then 'crashed'
            when status = 'running' then case when waiting then 'waiting' else 'running' end
            when score >= 0.5 then 'succeeded'
            when score < 0.5 then 'failed'
            when status = 'cancelled' then 'cancelled'
            when status = 'lost' then 'lost'
            else 'unknown'
        end
    ) stored,
    -- How much the run needs a person: what waits, then what crashed or is lost, what failed (by its first suspect), what
    -- runs, all others.
    attention       smallint not null generated always as (
        case
            when status = 'failed' then 80
            when status = 'running' then case when waiting then 90 else 60 end
            when score < 0.5 then 70 + suspect
            when status = 'lost' and score is null then 80
            else 0
        end
    ) stored,
    primary key (project_id, run_id)
) with (fillfactor = 80);
create index run_outcome_attention on run_outcome (project_id, attention desc, started_ns desc, run_id desc);
create index run_outcome_started on run_outcome (project_id, started_ns desc, run_id desc);
create index run_outcome_unsuspected on run_outcome (started_ns)
    where suspects_ns is null and outcome in ('failed', 'crashed');
create index run_outcome_undescribed on run_outcome (started_ns) where undescribed;

-- What of the above comes from scores and promises. A run waits if it has an open promise; or if it has recorded a question
-- that was never a promise, as programs do that somebody else instrumented.
create view run_standing as
select run.project_id, run.run_id, decided.name as score_name, decided.number as score,
    coalesce(decided.is_boolean, false) as score_is_boolean,
    exists (
        select from promise
        where promise.project_id = run.project_id and promise.run_id = run.run_id and promise.answered is null
            and promise.kind <> 'interrupt'
    )
    or (
        run.happened ->> 'kind' = 'question' and not exists (
            select from promise
            where promise.project_id = run.project_id and promise.promise_id = run.happened ->> 'promise'
        )
    ) is true as waiting
from run
left join lateral (
    select name, number, is_boolean from score
    where score.project_id = run.project_id and score.run_id = run.run_id and span is null and number is not null
    order by scored_ns desc, score_id desc limit 1
) as decided on true;

insert into run_outcome (
    project_id, run_id, started_ns, elapsed_ns, input_tokens, output_tokens, llm_calls, tool_calls, errors, status,
    undescribed, score_name, score, score_is_boolean, waiting
)
select project_id, run_id, started_ns, case when ended_ns is not null then greatest(0, ended_ns - started_ns) end,
    input_tokens, output_tokens, llm_calls, tool_calls, errors, status, projection > 0, score_name, score,
    score_is_boolean, waiting
from run join run_standing using (project_id, run_id);
