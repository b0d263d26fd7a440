-- name: add_note(project_id, run, note, noted_ns, seq, turn, event, text, label, author, api_key)!
-- encrypts: text=note, label=note, author=note
-- Nothing when there is no such run, or when it has a note with this id.
insert into note (project_id, run_id, note_id, noted_ns, seq, turn, event, text, label, author, api_key)
select :project_id, run_id, :note, coalesce(:noted_ns::bigint, (extract(epoch from clock_timestamp()) * 1000000000)::bigint),
    :seq, :turn, :event, :text, :label, :author, :api_key
from run where project_id = :project_id and run_id = :run
on conflict (project_id, run_id, note_id) do nothing;

-- name: note(project_id, run, note)^
-- decrypts: text=note, label=note, author=note
select * from note where project_id = :project_id and run_id = :run and note_id = :note;

-- name: notes(project_id, run, before_ns, before_note, how_many)
-- decrypts: text=note, label=note, author=note
-- Newest first; the row that `before_*` names is not among them.
select * from note
where project_id = :project_id and run_id = :run and (noted_ns, note_id) < (:before_ns, :before_note)
order by noted_ns desc, note_id desc limit :how_many;

-- name: delete_note(project_id, run, note)!
delete from note where project_id = :project_id and run_id = :run and note_id = :note;

-- name: views(project_id, after, how_many)
-- encrypts: after~view
-- decrypts: name~view, query=view, author=view
select name, query, author, (extract(epoch from saved_at) * 1000000000)::bigint as saved_ns from saved_view
where project_id = :project_id and name collate "C" > :after order by name collate "C" limit :how_many;

-- name: save_view(project_id, name, query, author)^
-- encrypts: name~view, query=view, author=view
-- decrypts: name~view, query=view, author=view
insert into saved_view (project_id, name, query, author) values (:project_id, :name, :query, :author)
on conflict (project_id, name) do update
set query = excluded.query, author = excluded.author, saved_at = excluded.saved_at
returning name, query, author, (extract(epoch from saved_at) * 1000000000)::bigint as saved_ns;

-- name: delete_view(project_id, name)!
-- encrypts: name~view
delete from saved_view where project_id = :project_id and name = :name;
