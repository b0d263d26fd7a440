"""Every sender that is captured: its program, the environment that it runs in, and what its user sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = "main"
_SEMCONV = "OTEL_SEMCONV_STABILITY_OPT_IN"
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_HTTP = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}
_LATEST = {_SEMCONV: "gen_ai_latest_experimental"}


@dataclass(frozen=True, slots=True)
class Sender:
    """`program` stands under programs/; `group` names a file under requirements/ and an environment made of it;
    `packages` are those whose versions the capture notes."""

    program: str
    packages: tuple[str, ...]
    group: str = MAIN
    environ: Mapping[str, str] = field(default_factory=dict[str, str])


_OPENINFERENCE = "openinference-instrumentation-"
_OTEL = "opentelemetry-instrumentation-"

# Without its own telemetry, which goes to CrewAI and nowhere else.
_CREWAI = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true", "CREWAI_TRACING_ENABLED": "false"}
_CLAUDE, _GEMINI = "coding/claude_code.py", "coding/gemini_cli.py"
_CLAUDE_LOGS = {
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "IS_SANDBOX": "1",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_LOG_USER_PROMPTS": "1",
    "OTEL_LOG_TOOL_DETAILS": "1",
    "OTEL_LOG_TOOL_CONTENT": "1",
}
_CLAUDE_BODIES = {"OTEL_LOG_RAW_API_BODIES": "1"}
_CLAUDE_SPANS = {"OTEL_TRACES_EXPORTER": "otlp", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1"}
_AGENTS = "agents/openai_agents.py"


def _by(instrumentation: str) -> dict[str, str]:
    return {"OPENAI_AGENTS_BY": instrumentation, **_HTTP}


SENDERS: Mapping[str, Sender] = {
    "otel_genai_openai": Sender(
        "clients/genai_openai.py", (_OTEL + "genai-openai", "openai"), environ={_CAPTURE: "SPAN_ONLY"}
    ),
    "otel_genai_openai_events": Sender(
        "clients/genai_openai.py", (_OTEL + "genai-openai", "openai"), environ={_CAPTURE: "EVENT_ONLY"}
    ),
    "otel_openai_v2_events": Sender(
        "clients/openai_v2.py", (_OTEL + "openai-v2", "openai"), "openai_v2", environ={_CAPTURE: "true"}
    ),
    "otel_openai_v2": Sender(
        "clients/openai_v2.py",
        (_OTEL + "openai-v2", "openai"),
        "openai_v2",
        environ={_CAPTURE: "SPAN_AND_EVENT", **_LATEST},
    ),
    "openinference_openai": Sender("clients/openinference_openai.py", (_OPENINFERENCE + "openai", "openai")),
    "openinference_langgraph": Sender(
        "agents/openinference_langgraph.py", (_OPENINFERENCE + "langchain", "langgraph", "langchain")
    ),
    "openllmetry_openai": Sender("clients/openllmetry_openai.py", (_OTEL + "openai", "openai")),
    "openllmetry_langgraph": Sender("agents/openllmetry_langgraph.py", (_OTEL + "langchain", "langgraph")),
    "nested_langgraph": Sender(
        "agents/nested_langgraph.py",
        (_OPENINFERENCE + "langchain", _OPENINFERENCE + "openai", _OTEL + "openai", "langgraph"),
    ),
    "pydantic_ai_1": Sender(
        "agents/pydantic_ai.py", ("pydantic-ai-slim",), "pydantic_ai_1", environ={"PYDANTIC_AI_VERSION": "1"}
    ),
    "pydantic_ai_2": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "2"}),
    "pydantic_ai_5": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "5"}),
    "pydantic_ai_6": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "6"}),
    "otel_genai_anthropic": Sender(
        "clients/genai_anthropic.py", (_OTEL + "genai-anthropic", "anthropic"), environ={_CAPTURE: "SPAN_AND_EVENT"}
    ),
    "openinference_anthropic": Sender("clients/openinference_anthropic.py", (_OPENINFERENCE + "anthropic",)),
    "openllmetry_anthropic": Sender("clients/openllmetry_anthropic.py", (_OTEL + "anthropic",)),
    "openinference_llama_index": Sender(
        "agents/openinference_llama_index.py", (_OPENINFERENCE + "llama-index", "llama-index-core"), "llama"
    ),
    "openllmetry_openai_legacy": Sender("clients/openllmetry_openai.py", (_OTEL + "openai",), "openllmetry_legacy"),
    "langfuse_openai": Sender("platforms/langfuse_openai.py", ("langfuse", "openai")),
    "logfire_openai": Sender("platforms/logfire_openai.py", ("logfire", "openai")),
    "mlflow_openai": Sender(
        "platforms/mlflow_openai.py", ("mlflow-tracing", "openai"), "mlflow", {**_HTTP, "MLFLOW_EXPERIMENT_ID": "0"}
    ),
    "langsmith_openai": Sender(
        "platforms/langsmith_openai.py", ("langsmith", "openai"), environ={"LANGSMITH_TRACING": "true"}
    ),
    "openlit_openai": Sender("platforms/openlit_openai.py", ("openlit", "openai"), "openlit"),
    "laminar_openai": Sender("platforms/laminar_openai.py", ("lmnr", "openai"), "lmnr"),
    "agentops_openai": Sender("platforms/agentops_openai.py", ("agentops", "openai"), "agentops"),
    "strands": Sender("agents/strands_agent.py", ("strands-agents",), "strands"),
    "strands_latest": Sender("agents/strands_agent.py", ("strands-agents",), "strands", environ=_LATEST),
    "google_adk": Sender("agents/google_adk.py", ("google-adk", "litellm"), "adk", environ={_CAPTURE: "SPAN_ONLY"}),
    "google_adk_handoff": Sender(
        "agents/google_adk.py",
        ("google-adk", "litellm"),
        "adk",
        environ={_CAPTURE: "SPAN_ONLY", "SCENE_HANDOFF": "1"},
    ),
    "agent_framework": Sender(
        "agents/agent_framework_agent.py",
        ("agent-framework-core", "agent-framework-openai"),
        "maf",
        _HTTP,
    ),
    "openinference_openai_agents": Sender(
        _AGENTS, (_OPENINFERENCE + "openai-agents", "openai-agents"), "openai_agents", _by("openinference")
    ),
    "openllmetry_openai_agents": Sender(
        _AGENTS, (_OTEL + "openai-agents", "openai-agents"), "openai_agents", _by("openllmetry")
    ),
    "logfire_openai_agents": Sender(_AGENTS, ("logfire", "openai-agents"), "openai_agents", _by("logfire")),
    "otel_genai_openai_agents": Sender(
        _AGENTS,
        (_OTEL + "genai-openai-agents", _OTEL + "genai-openai", "openai-agents"),
        "genai_openai_agents",
        {**_by("genai"), _CAPTURE: "SPAN_ONLY"},
    ),
    "openinference_crewai": Sender(
        "agents/crewai_crew.py",
        (_OPENINFERENCE + "crewai", _OPENINFERENCE + "openai", "crewai"),
        "crewai",
        {"CREWAI_BY": "openinference", **_CREWAI},
    ),
    "openllmetry_crewai": Sender(
        "agents/crewai_crew.py",
        (_OTEL + "crewai", _OTEL + "openai", "crewai"),
        "crewai",
        {"CREWAI_BY": "openllmetry", **_CREWAI},
    ),
    "claude_code": Sender(_CLAUDE, ("claude-agent-sdk",), "claude", {**_CLAUDE_LOGS, **_CLAUDE_BODIES}),
    "claude_code_prompts": Sender(_CLAUDE, ("claude-agent-sdk",), "claude", _CLAUDE_LOGS),
    "claude_code_traces": Sender(_CLAUDE, ("claude-agent-sdk",), "claude", {**_CLAUDE_LOGS, **_CLAUDE_SPANS}),
    "codex": Sender("coding/codex.py", ("@openai/codex",), "coding"),
    "gemini_cli": Sender(_GEMINI, ("@google/gemini-cli",), "coding", {"GEMINI_CLI_TRACES": "false"}),
    "gemini_cli_traces": Sender(_GEMINI, ("@google/gemini-cli",), "coding", {"GEMINI_CLI_TRACES": "true"}),
    "vercel": Sender("node/vercel.mjs", ("ai", "@ai-sdk/otel"), "node", environ={"AI_SDK_OTEL": "current"}),
    "vercel_legacy": Sender("node/vercel.mjs", ("ai", "@ai-sdk/otel"), "node", environ={"AI_SDK_OTEL": "legacy"}),
    "vercel_5": Sender("node/vercel.mjs", ("ai",), "node5"),
}

# Not the conversation, but a kind of span that it has not.
KINDS: Mapping[str, Sender] = {
    "kinds/mcp_sdk": Sender("kinds/mcp_sdk.py", ("mcp",), "mcp"),
    "kinds/llama_index_rag": Sender(
        "kinds/llama_index_rag.py", (_OPENINFERENCE + "llama-index", "llama-index-core"), "llama"
    ),
}
