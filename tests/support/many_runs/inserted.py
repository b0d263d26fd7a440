"""10,000 short runs with 100,000 tool calls, inserted by one statement: rows of runs, calls and scores, no content."""

RUNS, CALLS, TOOLS = 10_000, 10, 8
# As the projector writes them: eight tools, a tenth of the calls fails, a score for each run.
FILL = f"""
    insert into run (project_id, run_id, started_ns, ended_ns, status, name, llm_calls, tool_calls, input_tokens,
        output_tokens, context_peak, events, labels, search, usage)
    select 1, md5('run ' || n)::uuid, 1760000000000000000 + n * 1000000000::bigint,
        1760000000000000000 + n * 1000000000::bigint + n % 97 * 1000000, 'completed', 'support', {CALLS} + 1, {CALLS},
        n % 1000 * 10, n % 100, n % 5000, 40,
        array(select 'tool:tool' || t from generate_series(0, {TOOLS - 1}) as t) || array['agent:support'], 'support',
        '[{{"model": "gpt-4o", "input_tokens": 1000, "output_tokens": 100}}]'
    from generate_series(1, {RUNS}) as n;
    insert into tool_call (project_id, run_id, seq, time_ns, tool, outcome)
    select 1, md5('run ' || n)::uuid, 3 * c, 1760000000000000000 + n * 1000000000::bigint + c,
        ('x' || substr(encode(sha256(('tool' || (n * 7 + c * c) % {TOOLS})::bytea), 'hex'), 1, 8))::bit(32)::int,
        case when (n + c) % 10 = 0 then 2 else 1 end
    from generate_series(1, {RUNS}) as n, generate_series(1, {CALLS}) as c;
    insert into score (project_id, run_id, score_id, scored_ns, name, number, source)
    select 1, md5('run ' || n)::uuid, 's', n, 'resolved', (n % 3 = 0)::int, 'api' from generate_series(1, {RUNS}) as n;
    insert into run_outcome (project_id, run_id, started_ns, elapsed_ns, status, llm_calls, tool_calls, input_tokens,
        output_tokens, score_name, score)
    select project_id, run_id, started_ns, ended_ns - started_ns, status, llm_calls, tool_calls, input_tokens,
        output_tokens, score_name, score
    from run join run_standing using (project_id, run_id);
    analyze;
"""
