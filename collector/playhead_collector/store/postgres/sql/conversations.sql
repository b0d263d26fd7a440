-- name: conversation(project_id, scope, conversation)^
select * from conversation where project_id = :project_id and scope = :scope and conversation_id = :conversation;

-- name: lock_conversation(project_id, scope, conversation)^
select * from conversation where project_id = :project_id and scope = :scope and conversation_id = :conversation
for update;

-- name: begin_conversation(project_id, scope, conversation, head, messages, saves, parent, parent_revision)^
-- Nothing when another transaction began it just now.
insert into conversation (
    project_id, scope, conversation_id, revision, head, messages, parent_id, parent_revision, created_ns, updated_ns
)
select :project_id, :scope, :conversation, :saves, :head, :messages, :parent, :parent_revision, now_ns, now_ns
from (select (extract(epoch from clock_timestamp()) * 1000000000)::bigint as now_ns) as clock
on conflict (project_id, scope, conversation_id) do nothing
returning *;

-- name: move_conversation(project_id, scope, conversation, head, messages, saves)^
update conversation
set revision = revision + :saves, head = :head, messages = :messages,
    updated_ns = greatest(updated_ns, (extract(epoch from clock_timestamp()) * 1000000000)::bigint)
where project_id = :project_id and scope = :scope and conversation_id = :conversation
returning *;

-- name: conversations(project_id, scope, before_ns, before_scope, before_conversation, how_many)
-- Those that were saved last first, without persisted histories and notes; the row that `before_*` names is not among them. `scope` null: of all.
select * from conversation
where project_id = :project_id and (:scope::text is null or scope = :scope)
    and not starts_with(conversation_id, 'history/sha256:') and conversation_id <> 'playhead.notes'
    and (updated_ns, scope, conversation_id) < (:before_ns::bigint, :before_scope::text, :before_conversation::text)
order by updated_ns desc, scope desc, conversation_id desc limit :how_many;

-- name: delete_conversation(project_id, scope, conversation)!
delete from conversation where project_id = :project_id and scope = :scope and conversation_id = :conversation;

-- name: sweep_later(project_id, now)!
insert into sweep_due (project_id, since_ns) values (:project_id, :now)
on conflict (project_id) do update set since_ns = excluded.since_ns;
