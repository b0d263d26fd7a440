-- What is to be forwarded to other backends: a row per destination and arrived page of spans, or per run that is sent
-- again. Rows name spans and log events by 8 bytes each; what they say is read from `span_page` when they are sent.
create table forward_outbox (
    entry        bigint generated always as identity primary key,
    -- Before this time no worker takes it: one has it, or it waits for a pause to end.
    due_ns       bigint not null,
    created_ns   bigint not null,
    project_id   int not null,
    attempts     int not null default 0,
    run_id       uuid not null,
    digest       uuid,                      -- the page that has them as long as pages are not rewritten
    destination  text not null,
    spans        bytea,                     -- span ids, one after another; null: all ended spans of the run
    logs         bytea,                     -- keys of log events; null: all of the run
    reason       text                       -- why the destination refused them; such rows are kept for an operator
);
create index forward_outbox_due on forward_outbox (destination, due_ns, entry) where reason is null;
create index forward_outbox_dead on forward_outbox (destination, entry) where reason is not null;
