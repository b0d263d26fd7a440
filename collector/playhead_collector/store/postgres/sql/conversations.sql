-- name: conversation(project_id, scope, conversation)^
-- encrypts: scope~conversation_scope, conversation~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation, parent_id~conversation
select * from conversation where project_id = :project_id and scope = :scope and conversation_id = :conversation;

-- name: lock_conversation(project_id, scope, conversation)^
-- encrypts: scope~conversation_scope, conversation~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation, parent_id~conversation
select * from conversation where project_id = :project_id and scope = :scope and conversation_id = :conversation
for update;

-- name: begin_conversation(project_id, scope, conversation, head, messages, saves, parent, parent_revision, is_log)^
-- encrypts: scope~conversation_scope, conversation~conversation, parent~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation, parent_id~conversation
-- Nothing when another transaction began it just now.
insert into conversation (
    project_id, scope, conversation_id, revision, head, messages, parent_id, parent_revision, created_ns, updated_ns, log
)
select :project_id, :scope, :conversation, :saves, :head, :messages, :parent, :parent_revision, now_ns, now_ns,
    case when :is_log then nextval('conversation_log') end
from (select (extract(epoch from clock_timestamp()) * 1000000000)::bigint as now_ns) as clock
on conflict (project_id, scope, conversation_id) do nothing
returning *;

-- name: move_conversation(project_id, scope, conversation, head, messages, saves)^
-- encrypts: scope~conversation_scope, conversation~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation, parent_id~conversation
-- One that is kept as records is saved many times a minute: its time, which is indexed, then moves once a minute.
update conversation
set revision = revision + :saves, head = :head, messages = :messages,
    updated_ns = case
        when log is not null and updated_ns > (extract(epoch from clock_timestamp()) - 60) * 1000000000 then updated_ns
        else greatest(updated_ns, (extract(epoch from clock_timestamp()) * 1000000000)::bigint)
    end
where project_id = :project_id and scope = :scope and conversation_id = :conversation
returning *;

-- name: conversations(project_id, scope, prefix, unlisted, before_ns, before_scope, before_conversation, how_many)
-- encrypts: scope~conversation_scope, prefix~conversation, before_scope~conversation_scope
-- encrypts: before_conversation~conversation
-- decrypts: scope~conversation_scope, conversation_id~conversation, parent_id~conversation
-- Those that were saved last first; the row that `before_*` names is not among them. `scope` null: of all. `prefix` null:
-- those whose id begins with none of `unlisted`.
select * from conversation
where project_id = :project_id and (:scope::text is null or scope = :scope)
    and case
        when :prefix::text is null then not exists (
            select from unnest(:unlisted::text[]) as kept (prefix) where starts_with(conversation_id, kept.prefix)
        )
        else starts_with(conversation_id, :prefix)
    end
    and (updated_ns, scope, conversation_id) < (:before_ns::bigint, :before_scope::text, :before_conversation::text)
order by updated_ns desc, scope desc, conversation_id desc limit :how_many;

-- name: delete_conversation(project_id, scope, conversation)$
-- encrypts: scope~conversation_scope, conversation~conversation
with gone as (
    delete from conversation
    where project_id = :project_id and scope = :scope and conversation_id = :conversation
    returning log
),
records as (
    delete from conversation_record using gone where conversation_record.log = gone.log
)
select count(*) from gone;

-- name: records(project_id, log, after, how_many)
-- decrypts: body=record
select seq, encoding, refs, body from conversation_record
where log = :log and seq > :after and project_id = :project_id order by seq limit :how_many;

-- name: clear_records(log)!
delete from conversation_record where log = :log;

-- name: add_records(project_id, log, after, encodings, refs, bodies)!
-- encrypts: bodies=record
insert into conversation_record (project_id, log, seq, encoding, refs, body)
select :project_id, :log, :after + given.at, given.encoding, given.refs, given.body
from unnest(:encodings::smallint[], :refs::bytea[], :bodies::bytea[]) with ordinality as given (encoding, refs, body, at);

-- name: sweep_later(project_id, now)!
insert into sweep_due (project_id, since_ns) values (:project_id, :now)
on conflict (project_id) do update set since_ns = excluded.since_ns;
