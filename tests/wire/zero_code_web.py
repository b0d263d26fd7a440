"""A web application that asks a model three times per request, two of them at once, knowing nothing of Playhead; each
request in a span as an instrumentation of web frameworks makes it; run by `test_zero_code.py`."""

import asyncio
from typing import Any

import httpx
import openai
from fastapi import FastAPI
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

trace.set_tracer_provider(TracerProvider())  # as a distribution of OpenTelemetry does
application = FastAPI()
tracer = trace.get_tracer("opentelemetry.instrumentation.fastapi")


async def ask(question: str) -> str:
    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    return answer.choices[0].message.content or ""


@application.get("/ask")
async def endpoint(about: str) -> str:
    both = await asyncio.gather(ask(f"{about} one"), ask(f"{about} two"))
    return both[0] + await ask(f"{about} three")


async def instrumented(scope: Any, receive: Any, send: Any) -> None:
    with tracer.start_as_current_span(f"GET {scope['path']}", kind=trace.SpanKind.SERVER):
        await application(scope, receive, send)


async def main() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(instrumented), base_url="http://app") as client:
        answers = await asyncio.gather(client.get("/ask?about=cats"), client.get("/ask?about=dogs"))
    print(*(answer.json() for answer in answers), sep="\n")  # noqa: T201 - what it prints is what the test reads


if __name__ == "__main__":
    asyncio.run(main())
