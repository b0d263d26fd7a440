-- Conversations that are a list of records instead of messages, as the checkpoints of a thread of LangGraph are. No other
-- list has the same record, so each is a short row, and no content with a place in a thread.

alter table conversation add column log bigint; -- null: its head is a thread

create sequence conversation_log;

create table conversation_record (
    log         bigint not null,
    project_id  int not null,
    seq         int not null,       -- 1 for the first record
    encoding    smallint not null,  -- as in `content`
    refs        bytea not null,     -- of the contents that it names, one after the other; in the text each is a byte 1
    body        bytea not null,
    primary key (log, seq)
);
alter table conversation_record alter column body set storage external;
