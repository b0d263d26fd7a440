-- name: lock_lease(project_id, run)^
-- Whether or not it has run out. Others that want it wait until this transaction ends.
select until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns
from run_lease where project_id = :project_id and run_id = :run
for update;

-- name: take_lease(project_id, run, holder, process, seconds, attempt, force)^
-- Nothing, when another has it.
insert into run_lease as held (project_id, run_id, holder, process, attempt, since, until)
values (:project_id, :run, :holder, :process, :attempt, now(), now() + make_interval(secs => :seconds))
on conflict (project_id, run_id) do update
set holder = excluded.holder, process = excluded.process, attempt = excluded.attempt, delivered = false,
    since = excluded.since, until = excluded.until
where held.holder = excluded.holder or held.until <= now() or :force
returning until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: renew_lease(project_id, run, holder, seconds, attempt)^
-- Also one that has run out, unless another has taken it since. Nothing, when it is another's, or nobody's, or of a later
-- attempt.
update run_lease
set until = now() + make_interval(secs => :seconds), delivered = false, attempt = coalesce(:attempt, attempt)
where project_id = :project_id and run_id = :run and holder = :holder
    and (:attempt::int is null or attempt <= :attempt)
returning until > now() as is_held, holder, process, attempt, delivered,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: release_lease(project_id, run, holder, attempt)!
-- Not of a later attempt.
update run_lease set until = least(until, now()), delivered = true, attempt = coalesce(:attempt, attempt)
where project_id = :project_id and run_id = :run and holder = :holder
    and (:attempt::int is null or attempt <= :attempt);

-- name: note_delivered(project_id, run, holder, process, attempt)!
-- Of a run that nobody has resumed: its process is gone, and all its records arrived.
insert into run_lease (project_id, run_id, holder, process, attempt, delivered, since, until)
values (:project_id, :run, :holder, :process, :attempt, true, now(), now())
on conflict (project_id, run_id) do nothing;

-- name: insert_takeover(project_id, run, attempt)!
insert into run_takeover (project_id, run_id, attempt, since) values (:project_id, :run, :attempt, now())
on conflict (project_id, run_id, attempt) do nothing;

-- name: forget_leases()!
-- Of processes that died a day ago, and of which no run was stored.
delete from run_lease
where until < now() - interval '1 day'
    and not exists (
        select from run where run.project_id = run_lease.project_id and run.run_id = run_lease.run_id
    );
