"""What every sender records: one conversation with a tool, in two turns.  Imported by the programs beside it.

The marked texts are what no stored span may contain.  `otlp` is what a user writes to point OpenTelemetry somewhere.
"""

import json
import os

SYSTEM = "You are a weather clerk. Marker-system."
QUESTION = "What is the weather in Oslo? Marker-question."
FOLLOW_UP = "And what do I wear? Marker-follow-up."
CITY = "Oslo Marker-argument"
REPORT = "Rain all day. Marker-result."
TOOL = "look_up_weather"
HANDOFF_TO = "tailor"  # the agent that answers the follow-up, where there are several
TOOL_DESCRIPTION = "The weather of a city. Marker-description."
SESSION, USER = "session-7", "user-7"
MODEL = os.environ.get("SENDER_MODEL", "mock-model")
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
OPENAI_TOOL = {
    "type": "function",
    "function": {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": PARAMETERS},
}
ANTHROPIC_TOOL = {"name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": PARAMETERS}


def look_up_weather(city: str) -> str:
    """The weather of a city. Marker-description."""
    return REPORT


def otlp():
    """A tracer provider and a logger provider that send to where the environment says; both are global."""
    from opentelemetry import _logs, trace
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    traces, logs = TracerProvider(), LoggerProvider()
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(traces)
    _logs.set_logger_provider(logs)
    return traces, logs


def flush(*providers):
    """Sends what is left."""
    for provider in providers:
        provider.force_flush()
        provider.shutdown()


def talk_openai(client, *, stream_last=True, around=lambda name, call: call()):
    """The conversation with an OpenAI client: question, tool, answer, and a follow-up whose answer is streamed."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=[OPENAI_TOOL], temperature=0.5)
    message = asked.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        result = around(call.function.name, lambda call=call: look_up_weather(**json.loads(call.function.arguments)))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    answered = client.chat.completions.create(model=MODEL, messages=messages, tools=[OPENAI_TOOL], temperature=0.5)
    messages.append({"role": "assistant", "content": answered.choices[0].message.content})
    messages.append({"role": "user", "content": FOLLOW_UP})
    last = client.chat.completions.create(model=MODEL, messages=messages, tools=[OPENAI_TOOL], stream=stream_last)
    if stream_last:
        for _ in last:
            pass


def talk_anthropic(client):
    """The same with an Anthropic client."""
    messages = [{"role": "user", "content": QUESTION}]
    options = {"model": MODEL, "max_tokens": 200, "system": SYSTEM, "tools": [ANTHROPIC_TOOL]}
    asked = client.messages.create(messages=messages, **options)
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in asked.content]})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": look_up_weather(**block.input)}
        for block in asked.content
        if block.type == "tool_use"
    ]
    messages.append({"role": "user", "content": results})
    answered = client.messages.create(messages=messages, **options)
    messages.append({"role": "assistant", "content": answered.content[0].text})
    messages.append({"role": "user", "content": FOLLOW_UP})
    with client.messages.stream(messages=messages, **options) as stream:
        for _ in stream:
            pass
