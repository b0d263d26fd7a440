"""What senders' telemetry loses of a conversation; docs/integrations.md shows it, and the tests hold it to be true."""

from collections.abc import Mapping

# No messages at all, whatever its user sets.
NO_CONTENT: Mapping[str, str] = {"kinds/mcp_sdk": "arguments and results"}
# The messages that a model call was given are not said; prompts, answers and tools are, by themselves.
NO_CONTEXT: Mapping[str, str] = {
    "claude_code_prompts": "prompts, answers and tools by themselves; with `OTEL_LOG_RAW_API_BODIES=1` it is the same",
    "claude_code_traces": "prompts, answers and tools by themselves; with `OTEL_LOG_RAW_API_BODIES=1` it is the same",
    "codex": "prompts and tools by themselves, no answers",
}
# The framework asks in prompts of its own, in which the scene's texts stand.
OWN_PROMPTS = frozenset({
    "openinference_crewai", "openllmetry_crewai", "claude_code", "gemini_cli", "gemini_cli_traces", *NO_CONTEXT,
})  # fmt: skip
# The messages that a call was given are not those that the provider was sent.
CONTEXT_DIFFERS: Mapping[str, str] = {
    "agent_framework": "the `name` that the framework gives to an agent's answers",
    "google_adk": "that a tool's result was sent as JSON text; the `name` of its message",
    "google_adk_handoff": "that a tool's result was sent as JSON text; the `name` of its message",
    "openllmetry_crewai": "the `name` that CrewAI gives to a tool's message",
    "openlit_openai": "an assistant's tool calls, and which call a tool's message answers",
    "strands": "that texts were sent as lists of one part",
    "strands_latest": "that texts were sent as lists of one part",
    "openllmetry_langgraph": "the `name` that LangGraph gives to an agent's answers",
}
# Texts of the scene that stand in no message of the run's history.
HISTORY_LACKS: Mapping[str, tuple[str, ...]] = {
    "claude_code_prompts": ("Marker-result",),
    "claude_code_traces": ("Marker-result",),
    "codex": ("Marker-result", "Marker-answer", "Marker-last"),
    "logfire_openai": ("Marker-last",),
    "openllmetry_openai_agents": ("Marker-last",),
}
# Why a tool was called cannot be said.
NO_REASON: Mapping[str, str] = {
    "agentops_openai": "the answer's calls of tools are left out",
    "claude_code": "the request's record comes after the tool has begun",
    "claude_code_prompts": "the contexts of the calls are left out",
    "openllmetry_openai_agents": "answers are left out",
    "vercel_legacy": "by its clocks, the tool begins before the answer has ended",
}
