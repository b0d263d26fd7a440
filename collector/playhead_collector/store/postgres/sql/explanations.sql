-- name: explanation(project_id, subject, model)$
-- By this model, or by any when none is named.
select content from explanation
where project_id = :project_id and subject = :subject and (:model::text is null or model = :model)
order by model limit 1;

-- name: keep_explanation(project_id, run, subject, model, content)!
insert into explanation (project_id, run_id, subject, model, content)
select :project_id::int, :run::uuid, :subject::bytea, :model::text, :content::bytea
where exists (select from run where project_id = :project_id and run_id = :run)
on conflict (project_id, subject, model) do update set content = excluded.content, run_id = excluded.run_id;
