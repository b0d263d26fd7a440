-- name: open_promise(project_id, promise, kind, run, body, seconds)!
-- encrypts: body=promise
-- Nothing, when it is there already.
insert into promise (created, deadline, project_id, run_id, promise_id, kind, body)
values (now(), now() + make_interval(secs => :seconds), :project_id, :run, :promise, :kind, :body)
on conflict do nothing;

-- name: answer_promise(project_id, promise, answer, is_late)^
-- encrypts: answer=promise
-- Nothing, when it has an answer, or its deadline has passed; `is_late`: an answer that says so.
update promise set answered = clock_timestamp(), answer = :answer
where project_id = :project_id and promise_id = :promise and answered is null
    and (:is_late or deadline is null or deadline > now())
returning promise_id, run_id;

-- name: promise(project_id, promise)^
-- decrypts: body=promise, answer=promise
select promise_id, kind, run_id, body, answer,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns
from promise where project_id = :project_id and promise_id = :promise;

-- name: promises(project_id, kind, run, open, after_ns, after_promise, most)
-- decrypts: body=promise, answer=promise
-- Oldest first, after this one.
select promise_id, kind, run_id, body, answer,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns
from promise
where project_id = :project_id and (:kind::text is null or kind = :kind::text)
    and (:run::uuid is null or run_id = :run::uuid)
    and (:open::boolean is null or (answered is null) = :open::boolean)
    and ((extract(epoch from created) * 1000000000)::bigint, promise_id) > (:after_ns::bigint, :after_promise::text)
order by created, promise_id limit :most;

-- name: forget_promises(project_id, seconds)!
-- Answered so long ago.
delete from promise where project_id = :project_id and answered < now() - make_interval(secs => :seconds);

-- name: take_announcement(now, until, max_age)^
-- decrypts: body=promise, answer=promise
-- An open promise of any project that is to be announced now; nobody else takes it until then.  Requests to stop ask
-- nobody.
update promise set announce_due = :until, announce_attempts = announce_attempts + 1
where (project_id, promise_id) = (
    select project_id, promise_id from promise
    where answered is null and announce_due <= :now and kind <> 'interrupt'
        and created > to_timestamp(:now::bigint / 1e9) - make_interval(secs => :max_age)
        and (deadline is null or deadline > now())
    order by announce_due, created limit 1 for update skip locked
)
returning project_id, promise_id, kind, run_id, body, answer, announce_attempts,
    (select name from project where project.project_id = promise.project_id) as project,
    (extract(epoch from created) * 1000000000)::bigint as created_ns,
    (extract(epoch from deadline) * 1000000000)::bigint as deadline_ns,
    (extract(epoch from answered) * 1000000000)::bigint as answered_ns;

-- name: drop_announcements(now, max_age)
-- Those that `take_announcement` finds no more: too old, or past their deadline.
update promise set announce_due = null
where (project_id, promise_id) in (
    select project_id, promise_id from promise
    where answered is null and announce_due <= :now and kind <> 'interrupt'
        and (created <= to_timestamp(:now::bigint / 1e9) - make_interval(secs => :max_age) or deadline <= now())
    order by announce_due limit 100 for update skip locked
)
returning promise_id;

-- name: settle_announcement(project_id, promise, due)!
-- Due again then; null: not any more.
update promise set announce_due = :due where project_id = :project_id and promise_id = :promise;
