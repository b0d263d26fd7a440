-- name: event_digests(project, run)
select page, beside, sha256(body) as digest from event_page where project_id = :project and run_id = :run;

-- name: write_event_pages(project, run, beside, pages, firsts, lasts, bodies)!
insert into event_page (project_id, run_id, beside, page, first_seq, last_seq, body)
select :project, :run, :beside, page, first_seq, last_seq, body
from unnest(:pages::int[], :firsts::int[], :lasts::int[], :bodies::bytea[]) as given (page, first_seq, last_seq, body)
on conflict (project_id, run_id, page) do update
set beside = excluded.beside, first_seq = excluded.first_seq, last_seq = excluded.last_seq, body = excluded.body;

-- name: delete_event_pages(project, run, pages)!
delete from event_page where project_id = :project and run_id = :run and page = any(:pages);

-- name: read_event_pages(project, run, after, upto, how_many)
select event_page.page, event_page.first_seq, event_page.body, span_page.body as beside
from event_page
left join span_page on span_page.project_id = event_page.project_id and span_page.run_id = event_page.run_id
    and span_page.page = event_page.beside
where event_page.project_id = :project and event_page.run_id = :run
    and event_page.last_seq > :after and event_page.first_seq <= :upto
order by event_page.page limit :how_many;

-- name: snapshot_digests(project, run)
select seq, sha256(history || body) as digest from run_snapshot where project_id = :project and run_id = :run;

-- name: write_snapshots(project, run, seqs, histories, bodies)!
insert into run_snapshot (project_id, run_id, seq, history, body)
select :project, :run, seq, history, body
from unnest(:seqs::int[], :histories::bytea[], :bodies::bytea[]) as new (seq, history, body)
on conflict (project_id, run_id, seq) do update set history = excluded.history, body = excluded.body;

-- name: delete_snapshots(project, run, seqs)!
delete from run_snapshot where project_id = :project and run_id = :run and seq = any(:seqs);

-- name: read_snapshot(project, run, seq)
-- The history in parts, oldest first; the last row has the state.
select history, case when seq = max(seq) over () then body end as body from run_snapshot
where project_id = :project and run_id = :run and seq <= :seq
order by run_snapshot.seq;
