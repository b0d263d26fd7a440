-- A promise is announced to the webhook of the operator from its own row: it is due as soon as it is durable.

alter table promise
    add column announce_due bigint default 0,  -- when it is announced next, in ns since 1970; null: it was, or is given up
    add column announce_attempts int not null default 0;
create index promise_announce on promise (project_id, announce_due) where answered is null and announce_due is not null;
