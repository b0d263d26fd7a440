"""Programs that record and export, run as processes of their own: `python -m tests.wire.export.programs NAME`."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playhead
from playhead import observe


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


@observe(kind="tool")
def look_up(order: str) -> dict[str, str]:
    return {"order": order, "status": "delayed"}


@observe(kind="agent")
def agent(order: str) -> str:
    return look_up(order)["status"]


def exports() -> None:
    """To what the environment names, then says what the agent answered and whether all was delivered."""
    for kind in os.environ["TO"].split():
        playhead.export_to(
            kind,  # type: ignore[arg-type]
            endpoint=os.environ.get(f"URL_{kind.upper()}"),
            public_url="https://playhead.example",
            collector={"": None, "1": True}[os.environ.get("WITH_COLLECTOR", "")],
        )
    with playhead.run("support", session="s1", user="u1", tags=["t1"], metadata={"plan": "pro"}):
        answer = agent("A1001")
    say(answer, playhead.flush(float(os.environ.get("FLUSH", "60"))))
    if "UNTIL" in os.environ:  # it lives on until this file is there
        wait_for(Path(os.environ["UNTIL"]).exists)


def killed() -> None:
    """Records for a destination, and is killed before anything is delivered."""
    options: dict[str, Any] = json.loads(os.environ.get("OPTIONS", "{}"))
    if "REDACT" in os.environ:
        options["redact"] = str
    playhead.export_to(os.environ["TO"], endpoint=os.environ["URL"], **options)  # type: ignore[arg-type]
    with playhead.run("support"):
        agent("A1001")
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns when the condition holds, or after some minutes."""
    deadline = time.monotonic() + 180
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def checkpoints() -> None:
    """What is no span: a checkpoint of the run."""
    playhead.export_to("otlp", endpoint=os.environ["URL_OTLP"])
    with playhead.run("support"):
        agent("A1001")
        playhead.checkpoint({"order": "A1001"}, name="asked")
    say(playhead.flush(60))


def described_twice() -> None:
    """Model calls that another instrumentation records besides ours."""
    from openai import OpenAI
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    from playhead import RefSpanProcessor
    from playhead.testing import MockModelServer, text

    for kind in os.environ["TO"].split():
        playhead.export_to(kind, endpoint=os.environ[f"URL_{kind.upper()}"])  # type: ignore[arg-type]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(RefSpanProcessor())
    trace.set_tracer_provider(provider)
    playhead.instrument("openai")
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with MockModelServer() as server, OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        server.otherwise(text("fine"))
        with playhead.run("chat"):
            for turn in range(3):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"turn {turn}"}])
    say(playhead.flush(60))


def late() -> None:
    """A destination that is added while a run is recorded gets what came before."""
    with playhead.run("support"):
        agent("A1001")
        playhead.flush(0.5)
        playhead.export_to("phoenix", endpoint=os.environ["URL_PHOENIX"], collector=True)
    say(playhead.flush(60))


def many() -> None:
    """A conversation that grows: its content is journaled once, and sent with every call."""
    playhead.export_to("phoenix", endpoint=os.environ["URL_PHOENIX"])
    from openai import OpenAI

    from playhead.testing import MockModelServer, text

    playhead.instrument("openai")
    with MockModelServer() as server, OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        server.otherwise(text("fine"))
        messages: list[Any] = []
        with playhead.run("chat"):
            for turn in range(12):
                messages.append({"role": "user", "content": f"turn {turn} " + "x" * 2_000})
                client.chat.completions.create(model="m", messages=messages)
                messages.append({"role": "assistant", "content": "fine"})
                if turn % 5 == 0:
                    playhead.flush(60)
    say(playhead.flush(60))


def beside_langfuse() -> None:
    """The user's own Langfuse SDK, our spans, and content as refs in what Langfuse gets of them."""
    from langfuse import get_client
    from langfuse import observe as langfuse_observe
    from openai import OpenAI

    from playhead.testing import MockModelServer, text

    playhead.instrument("openai")

    @langfuse_observe(name="theirs", as_type="chain")
    def theirs(question: str) -> str:
        agent("A1001")
        completion = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return str(completion.choices[0].message.content)

    with MockModelServer() as server, OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        server.otherwise(text("fine"))
        say(theirs("Where is it?"))
    get_client().flush()
    say(playhead.flush(60))


def chained() -> None:
    """`RefSpanExporter` before the exporter that people use for Langfuse and Phoenix."""
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    from playhead import RefSpanExporter

    provider = TracerProvider(shutdown_on_exit=False)
    for name in ("langfuse", "phoenix"):
        headers = dict([os.environ[f"HEADER_{name.upper()}"].split("=", 1)])
        exporter = OTLPSpanExporter(os.environ[f"URL_{name.upper()}"], headers=headers, compression=Compression.Gzip)
        provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    with provider.get_tracer("theirs").start_as_current_span("chat m") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.request.model", "m")
        span.set_attribute("gen_ai.input.messages", '[{"role":"user","parts":[{"type":"text","content":"a secret"}]}]')
    provider.shutdown()
    playhead.shutdown(0.1)


PROGRAMS: dict[str, Callable[[], None]] = {
    program.__name__: program
    for program in (exports, killed, checkpoints, described_twice, late, many, beside_langfuse, chained)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
