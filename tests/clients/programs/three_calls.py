"""An agent that asks a model three times, through the client that its argument names: plain, streamed and asynchronous,
with a tool after the first answer; run by `test_clients_killed.py`.

It prints the texts that it got, and the classes of the client's objects.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import playhead
from playhead import observe

CLIENT, SERVER = sys.argv[1], os.environ["MODEL_SERVER"]

Said = tuple[str, list[Any]]
"""The text, and the client's objects in which it was."""


def asked(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def joined(chunks: Iterable[Any], text: Callable[[Any], str | None]) -> Said:
    items = list(chunks)
    return "".join(text(item) or "" for item in items), items


# --- clients: each asks plainly, as a stream, and later ---------------------------------------------------------------


class ChatCompletions:
    """Clients in the form of OpenAI's."""

    def __init__(self, client: Any, later: Callable[[], Any]):
        self.client, self.async_client = client, later

    def plain(self, text: str) -> Said:
        answer = self.client.chat.completions.create(model="m", messages=asked(text))
        return answer.choices[0].message.content, [answer]

    def streamed(self, text: str) -> Said:
        chunks = self.client.chat.completions.create(model="m", messages=asked(text), stream=True)
        return joined(chunks, lambda chunk: chunk.choices[0].delta.content if chunk.choices else None)

    async def later(self, text: str) -> Said:
        async with self.async_client() as client:
            answer = await client.chat.completions.create(model="m", messages=asked(text))
        return answer.choices[0].message.content, [answer]


def groq_client() -> Any:
    import groq

    at: dict[str, Any] = {"base_url": SERVER, "api_key": "none", "max_retries": 0}
    return ChatCompletions(groq.Groq(**at), lambda: groq.AsyncGroq(**at))


def together_client() -> Any:
    import together

    at: dict[str, Any] = {"base_url": SERVER, "api_key": "none", "max_retries": 0}
    return ChatCompletions(together.Together(**at), lambda: together.AsyncTogether(**at))


def hugging_face_client() -> Any:
    from huggingface_hub import AsyncInferenceClient, InferenceClient

    at: dict[str, Any] = {"base_url": SERVER, "api_key": "none"}
    return ChatCompletions(InferenceClient(**at), lambda: AsyncInferenceClient(**at))


class TextCompletions:
    """`completions` of `openai`."""

    def __init__(self) -> None:
        import openai

        at: dict[str, Any] = {"base_url": f"{SERVER}/v1", "api_key": "none", "max_retries": 0}
        self.client, self.async_client = openai.OpenAI(**at), openai.AsyncOpenAI(**at)

    def plain(self, text: str) -> Said:
        answer = self.client.completions.create(model="m", prompt=text)
        return answer.choices[0].text, [answer]

    def streamed(self, text: str) -> Said:
        chunks = self.client.completions.create(model="m", prompt=text, stream=True)
        return joined(chunks, lambda chunk: chunk.choices[0].text if chunk.choices else None)

    async def later(self, text: str) -> Said:
        async with self.async_client as client:
            answer = await client.completions.create(model="m", prompt=text)
        return answer.choices[0].text, [answer]


class CohereClient:
    def __init__(self) -> None:
        import cohere

        at: dict[str, Any] = {"api_key": "none", "base_url": SERVER}
        self.client, self.async_client = cohere.ClientV2(**at), lambda: cohere.AsyncClientV2(**at)

    def plain(self, text: str) -> Said:
        answer: Any = self.client.chat(model="command-a", messages=asked(text))
        return answer.message.content[0].text, [answer]

    def streamed(self, text: str) -> Said:
        events = self.client.chat_stream(model="command-a", messages=asked(text))
        return joined(events, lambda event: event.delta.message.content.text if event.type == "content-delta" else "")

    async def later(self, text: str) -> Said:
        async with self.async_client() as client:
            answer: Any = await client.chat(model="command-a", messages=asked(text))
        return answer.message.content[0].text, [answer]


class MistralClient:
    def __init__(self) -> None:
        from mistralai.client import Mistral

        self.made = lambda: Mistral(api_key="none", server_url=f"{SERVER}/mistral")

    def plain(self, text: str) -> Said:
        with self.made() as client:
            answer: Any = client.chat.complete(model="m", messages=asked(text))
        return answer.choices[0].message.content, [answer]

    def streamed(self, text: str) -> Said:
        with self.made() as client, client.chat.stream(model="m", messages=asked(text)) as events:
            return joined(events, lambda event: event.data.choices[0].delta.content)

    async def later(self, text: str) -> Said:
        async with self.made() as client:
            answer: Any = await client.chat.complete_async(model="m", messages=asked(text))
        return answer.choices[0].message.content, [answer]


class OllamaClient:
    def __init__(self) -> None:
        import ollama

        self.client, self.async_client = ollama.Client(SERVER), lambda: ollama.AsyncClient(SERVER)

    def plain(self, text: str) -> Said:
        answer = self.client.chat("m", asked(text))
        return answer.message.content or "", [answer]

    def streamed(self, text: str) -> Said:
        return joined(self.client.chat("m", asked(text), stream=True), lambda chunk: chunk.message.content)

    async def later(self, text: str) -> Said:
        answer = await self.async_client().chat("m", asked(text))
        return answer.message.content or "", [answer]


class BedrockClient:
    """Asynchronous only: its plain call is awaited, too."""

    def __init__(self) -> None:
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        self.made = lambda: get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=SERVER,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="none",
            config=AioConfig(retries={"max_attempts": 0, "mode": "standard"}, proxies={}),
        )

    def plain(self, text: str) -> Said:
        return asyncio.run(self.later(text))

    def streamed(self, text: str) -> Said:
        return asyncio.run(self._streamed(text))

    async def _streamed(self, text: str) -> Said:
        async with self.made() as client:
            answer = await client.converse_stream(modelId="m", messages=self._asked(text))
            events = [event async for event in answer["stream"]]
        text, _ = joined(events, lambda event: event.get("contentBlockDelta", {}).get("delta", {}).get("text"))
        return text, [answer, *events]

    async def later(self, text: str) -> Said:
        async with self.made() as client:
            answer = await client.converse(modelId="m", messages=self._asked(text))
        return answer["output"]["message"]["content"][0]["text"], [answer]

    def _asked(self, text: str) -> list[Any]:
        return [{"role": "user", "content": [{"text": text}]}]


CLIENTS: dict[str, Callable[[], Any]] = {
    "aiobotocore": BedrockClient,
    "cohere": CohereClient,
    "groq": groq_client,
    "huggingface_hub": hugging_face_client,
    "mistralai": MistralClient,
    "ollama": OllamaClient,
    "openai.completions": TextCompletions,
    "together": together_client,
}


# --- the agent --------------------------------------------------------------------------------------------------------


@observe(kind="tool")
def look_up(order: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"look_up {order}\n")
    if os.environ.get("DIE_IN") == "look_up":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{order} is delayed"


@observe(kind="agent")
def ask() -> dict[str, Any]:
    client = CLIENTS[CLIENT]()
    which, first = client.plain("Which order is it?")
    says, second = client.streamed(f"{look_up(which)}. What does one say?")
    last, third = asyncio.run(client.later(f"Make it short: {says}"))
    kinds = [
        {f"{type(each).__module__}.{type(each).__name__}" for each in objects} for objects in (first, second, third)
    ]
    return {"said": [which, says, last], "classes": [sorted(names) for names in kinds]}


if __name__ == "__main__":
    playhead.instrument()
    print(json.dumps(ask()))  # noqa: T201 - what it prints is what the test reads
