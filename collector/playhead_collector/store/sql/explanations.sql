-- name: explanation(project, subject, model)$
-- By this model, or by any when none is named.
select content from explanation
where project_id = :project and subject = :subject and (:model::text is null or model = :model)
order by model limit 1;

-- name: keep_explanation(project, subject, model, content)!
insert into explanation (project_id, subject, model, content) values (:project, :subject, :model, :content)
on conflict (project_id, subject, model) do update set content = excluded.content;
