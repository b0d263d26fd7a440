-- name: redaction_job(project_id)^
select * from redaction_job where project_id = :project_id;

-- name: lock_redaction_job(project_id)^
-- Nobody else makes a step of it meanwhile.
select * from redaction_job where project_id = :project_id and ended_ns is null for update skip locked;

-- name: start_redaction_job(project_id, rules, now)^
insert into redaction_job (project_id, rules, started_ns, updated_ns) values (:project_id, :rules, :now, :now)
on conflict (project_id) do update set
    rules = excluded.rules, started_ns = excluded.started_ns, updated_ns = excluded.updated_ns, ended_ns = null,
    phase = 0, at_pack = -1, at_run = '00000000-0000-0000-0000-000000000000', at_ref = '', at_key = '', counts = '{}',
    failed = null
returning *;

-- name: stop_redaction_job(project_id, now)^
update redaction_job set ended_ns = :now, updated_ns = :now where project_id = :project_id and ended_ns is null returning *;

-- name: redaction_jobs(before)
select project_id from redaction_job where ended_ns is null and started_ns <= :before order by updated_ns;

-- name: move_redaction_job(project_id, phase, at_pack, at_run, at_ref, at_key, counts, now, is_over)^
update redaction_job set
    phase = :phase, at_pack = :at_pack, at_run = :at_run, at_ref = :at_ref, at_key = :at_key, counts = :counts,
    updated_ns = :now, ended_ns = case when :is_over then :now::bigint end, failed = null
where project_id = :project_id returning *;

-- name: note_redaction_failure(project_id, why)!
update redaction_job set failed = :why where project_id = :project_id and ended_ns is null;

-- name: contents_after(project_id, after, how_many)
select ref, coalesce(octet_length(body), object_length) as bytes from content
where project_id = :project_id and ref > :after order by ref limit :how_many;

-- name: packs_after(project_id, after, how_many)
select pack, version from content_pack where project_id = :project_id and pack > :after order by pack limit :how_many;

-- name: lock_pack(project_id, pack, version)^
select runs from content_pack where project_id = :project_id and pack = :pack and version = :version for update;

-- name: insert_unpacked(project_id, today, refs, media, roles, kinds, tokens, stored, sizes, bodies, encodings, masked)!
-- encrypts: bodies=content
-- `stored`: the day on which it came, null for what is in packs of older versions. A row of the same ref becomes this one.
insert into content (
    project_id, last_seen, first_stored, ref, media, encoding, role, kind, tokens, size, body, masked
)
select :project_id, :today, stored, ref, media, encoding, role, kind, tokens, size, body, masked
from unnest(
    :refs::bytea[], :media::int[], :encodings::smallint[], :roles::smallint[], :kinds::smallint[], :tokens::int[],
    :stored::date[], :sizes::int[], :bodies::bytea[], :masked::bytea[]
) as given (ref, media, encoding, role, kind, tokens, stored, size, body, masked)
on conflict (project_id, ref) do update set
    media = excluded.media, encoding = excluded.encoding, role = excluded.role, size = excluded.size,
    kind = case when content.kind = 0 then excluded.kind else content.kind end,
    tokens = coalesce(content.tokens, excluded.tokens),
    first_stored = least(content.first_stored, excluded.first_stored),
    body = excluded.body, masked = excluded.masked, last_seen = excluded.last_seen,
    object = null, object_start = null, object_length = null, object_digest = null, names = null;

-- name: event_bodies_to_mask(project_id, run)
-- decrypts: body=event_page, beside=span_page
-- With what each has to be read with.
select event_page.page, event_page.first_seq, event_page.last_seq, event_page.body, event_page.beside as number,
    beside.body as beside
from event_page
left join span_page as beside
    on beside.project_id = event_page.project_id and beside.run_id = event_page.run_id and beside.page = event_page.beside
where event_page.project_id = :project_id and event_page.run_id = :run order by event_page.page;

-- name: snapshots_to_mask(project_id, run)
-- decrypts: body=snapshot
select seq, history, body from run_snapshot where project_id = :project_id and run_id = :run order by seq;

-- name: next_runs_to_mask(project_id, after, how_many)
select run_id from run where project_id = :project_id and run_id > :after order by run_id limit :how_many;

-- name: mask_run(project_id, run, name, session, user, labels, search, happened, suspect)!
-- encrypts: name=run, session=run, user=run, labels#, happened.text=run, happened.about=run, suspect.reason=run
-- blanks: search
-- The next projection begins from nothing: what collectors keep in memory of the run is not what is stored any more.
update run set
    name = :name, session = :session, "user" = :user, labels = :labels, search = :search, happened = :happened::jsonb,
    suspect = :suspect::jsonb, projection = nextval('run_projection')
where project_id = :project_id and run_id = :run;

-- name: scores_to_mask(project_id, run)
-- decrypts: label~score_label, author=score, comment=score
select score_id, name, label, author, comment from score where project_id = :project_id and run_id = :run;

-- name: mask_scores(project_id, run, ids, names, labels, authors, comments)!
-- encrypts: labels~score_label, authors=score, comments=score
update score set name = given.name, label = given.label, author = given.author, comment = given.comment
from unnest(:ids::text[], :names::text[], :labels::text[], :authors::text[], :comments::text[])
    as given (score_id, name, label, author, comment)
where score.project_id = :project_id and score.run_id = :run and score.score_id = given.score_id;

-- name: notes_to_mask(project_id, run)
-- decrypts: text=note, label=note, author=note
select note_id, text, label, author from note where project_id = :project_id and run_id = :run;

-- name: mask_notes(project_id, run, ids, texts, labels, authors)!
-- encrypts: texts=note, labels=note, authors=note
update note set text = given.text, label = given.label, author = given.author
from unnest(:ids::text[], :texts::text[], :labels::text[], :authors::text[]) as given (note_id, text, label, author)
where note.project_id = :project_id and note.run_id = :run and note.note_id = given.note_id;

-- name: pin_to_mask(project_id, run)
-- decrypts: reason=pin
select run_id, reason from pin where project_id = :project_id and run_id = :run;

-- name: mask_pin(project_id, ids, reasons)!
-- encrypts: reasons=pin
update pin set reason = given.reason
from unnest(:ids::uuid[], :reasons::text[]) as given (run_id, reason)
where pin.project_id = :project_id and pin.run_id = given.run_id;

-- name: scorings_to_mask(project_id, run)
-- decrypts: error=scoring
select scorer_id, error from scoring_due where project_id = :project_id and run_id = :run and error is not null;

-- name: mask_scorings(project_id, run, ids, errors)!
-- encrypts: errors=scoring
update scoring_due set error = given.error
from unnest(:ids::bigint[], :errors::text[]) as given (scorer_id, error)
where scoring_due.project_id = :project_id and scoring_due.run_id = :run and scoring_due.scorer_id = given.scorer_id;

-- name: promises_to_mask(project_id, after, how_many)
-- decrypts: body=promise, answer=promise
select promise_id, body, answer from promise
where project_id = :project_id and promise_id > :after order by promise_id limit :how_many;

-- name: mask_promises(project_id, ids, bodies, answers)!
-- encrypts: bodies=promise, answers=promise
-- An answer that came since then was masked when it came.
update promise set body = given.body, answer = coalesce(given.answer, promise.answer)
from unnest(:ids::text[], :bodies::text[], :answers::text[]) as given (promise_id, body, answer)
where promise.project_id = :project_id and promise.promise_id = given.promise_id;

-- name: logs_after(project_id, after, how_many)
select distinct log from conversation_record where project_id = :project_id and log > :after order by log limit :how_many;

-- name: mask_records(project_id, log, seqs, encodings, refs, bodies)!
-- encrypts: bodies=record
update conversation_record set encoding = given.encoding, refs = given.refs, body = given.body, masked = true
from unnest(:seqs::int[], :encodings::smallint[], :refs::bytea[], :bodies::bytea[]) as given (seq, encoding, refs, body)
where conversation_record.project_id = :project_id and conversation_record.log = :log
    and conversation_record.seq = given.seq;
