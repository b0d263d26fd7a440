-- Scores of runs and of calls: those that were posted, and those of `score_recorded` events, which the projector fills
-- in.  A score of the same name and span replaces the one before; all are kept.

create table score (
    scored_ns   bigint not null,    -- posted: by this database's clock; of an event: the event's time
    number      double precision,   -- null: the score is a category; of a boolean 1 or 0
    project_id  int not null,
    run_id      uuid not null,
    is_boolean  boolean not null default false,
    score_id    text not null,      -- as the poster says; of an event: the event's id
    name        text not null,
    label       text,               -- the category; or what the evaluator calls the number
    span        text,               -- the call that was scored; null: the run
    source      text not null,      -- 'api', or the instrumentation that reported it
    author      text,
    api_key     text,               -- the name of the key that it was posted with
    comment     text,
    explanation bytea,              -- ref of a comment that is too long for an event
    primary key (project_id, run_id, score_id)
);
create index score_time on score (project_id, scored_ns, run_id, score_id);
create index score_name on score (project_id, name, scored_ns, run_id, score_id);

-- `is_latest`: the score was not replaced by a later one.
create view score_in_time as
select *, not exists (
    select from score as later
    where later.project_id = score.project_id and later.run_id = score.run_id and later.name = score.name
        and later.span is not distinct from score.span
        and (later.scored_ns, later.score_id) > (score.scored_ns, score.score_id)
) as is_latest
from score;
