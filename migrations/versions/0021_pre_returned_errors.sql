-- `tool_call.outcome` 4: the tool returned a text or object that reports an error.  Whoever indexes a run reads the results
-- and writes it, so runs that were indexed before are indexed again.  Searches go on finding them meanwhile.

update run set searched = false
where searched and exists (
    select from tool_call
    where tool_call.project_id = run.project_id and tool_call.run_id = run.run_id and tool_call.outcome = 1
);
