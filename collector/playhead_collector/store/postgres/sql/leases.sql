-- name: take_lease(project, run, holder, process, seconds, force)^
-- Nothing, when another has it.
insert into run_lease as held (project_id, run_id, holder, process, since, until)
values (:project, :run, :holder, :process, now(), now() + make_interval(secs => :seconds))
on conflict (project_id, run_id) do update
set holder = excluded.holder, process = excluded.process, since = excluded.since, until = excluded.until
where held.holder = excluded.holder or held.until <= now() or :force
returning holder, process,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: renew_lease(project, run, holder, seconds)^
-- Also one that has run out, unless another has taken it since. Nothing, when it is another's, or nobody's.
update run_lease set until = now() + make_interval(secs => :seconds)
where project_id = :project and run_id = :run and holder = :holder
returning holder, process,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns;

-- name: lease(project, run)^
-- Whether or not it has run out.
select until > now() as is_held, holder, process,
    (extract(epoch from since) * 1000000000)::bigint as since_ns,
    (extract(epoch from until) * 1000000000)::bigint as until_ns
from run_lease where project_id = :project and run_id = :run;

-- name: release_lease(project, run, holder)!
delete from run_lease where project_id = :project and run_id = :run and holder = :holder;

-- name: forget_leases()!
-- Of processes that died.
delete from run_lease where until < now() - interval '1 day';
