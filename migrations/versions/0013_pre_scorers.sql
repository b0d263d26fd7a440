-- Scorers: what scores runs that have ended, and which runs wait for that.

create table scorer (
    scorer_id   bigint generated always as identity primary key,
    created_ns  bigint not null,
    project_id  int not null,
    -- One more with each change of what decides the value.
    version     int not null default 1,
    enabled     boolean not null,
    name        text not null,
    -- What decides the value: kind, rule, function, prompt, model, name of the score.
    definition  jsonb not null,
    -- Which runs, and how many: conditions, sample, budgets.
    selection   jsonb not null,
    -- Of the conditions, as in `run`.
    labels      text[] not null,
    search      text not null,
    -- How far a pass over stored runs has come; null: there was none.
    backfill    jsonb,
    unique (project_id, name)
);
create index scorer_backfill on scorer (scorer_id) where enabled and backfill ->> 'state' = 'running';

-- Runs that wait to be scored. Whoever takes one moves `due_ns` to the end of his lease.
create table scoring_due (
    scorer_id   bigint not null,
    due_ns      bigint not null,
    run_id      uuid not null,
    project_id  int not null,
    attempts    smallint not null default 0,
    -- Comes after runs that have just ended.
    backfill    boolean not null,
    given_up    boolean not null default false,
    -- Why the last attempt failed.
    error       text,
    primary key (project_id, scorer_id, run_id)
);
create index scoring_due_next on scoring_due (project_id, backfill, due_ns) where not given_up;
create index scoring_due_run on scoring_due (project_id, run_id);

-- What a scorer did on a day (UTC). Budgets are about `begun`, `tokens` and `cost`.
create table scorer_day (
    scorer_id   bigint not null,
    begun       bigint not null default 0,
    scored      bigint not null default 0,
    failed      bigint not null default 0,
    not_sampled bigint not null default 0,
    over_budget bigint not null default 0,
    tokens      bigint not null default 0,
    cost        double precision not null default 0,
    project_id  int not null,
    day         date not null,
    primary key (project_id, scorer_id, day)
);

-- A run that was projected while its project has scorers. Once it is sealed, a collector notes which of them it waits for.
alter table run add column scorers_due boolean not null default false;
create index run_scorers_due on run (project_id, run_id) where sealed and scorers_due;

-- As before, but what a scorer says decides only where neither the program nor a person has said it: a pass over stored
-- runs would otherwise overrule people.
create or replace view run_standing as
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
    order by source = 'scorer', scored_ns desc, score_id desc limit 1
) as decided on true;
