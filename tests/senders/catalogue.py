"""Every sender that is captured: its program, the environment that it runs in, and what its user sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = "main"
_SEMCONV = "OTEL_SEMCONV_STABILITY_OPT_IN"
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
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
    "pydantic_ai_1": Sender(
        "agents/pydantic_ai.py", ("pydantic-ai-slim",), "pydantic_ai_1", environ={"PYDANTIC_AI_VERSION": "1"}
    ),
    "pydantic_ai_2": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "2"}),
    "pydantic_ai_5": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "5"}),
    "pydantic_ai_6": Sender("agents/pydantic_ai.py", ("pydantic-ai-slim",), environ={"PYDANTIC_AI_VERSION": "6"}),
}
