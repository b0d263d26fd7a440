"""OpenAI's Chat Completions."""

from typing import Any

import openai

from tests.support.provider_chats.chat import (
    MODEL,
    ModelAnswer,
    ProviderChat,
    WantedCall,
    parameters_of,
    read_arguments,
)


class OpenAIChat(ProviderChat):
    def connect(self) -> openai.OpenAI:
        return openai.OpenAI(api_key="none", http_client=self.server.http_client())

    def user_message(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: list[tuple[WantedCall, str]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call.id, "content": result} for call, result in results]

    def ask(self) -> ModelAnswer:
        system = [{"role": "system", "content": self.system}] if self.system else []
        tools = [
            {"type": "function", "function": {"name": name, "parameters": parameters_of(name)}} for name in self.tools
        ]
        more = {"tools": tools} if tools else {}
        answer = self.client.chat.completions.create(model=MODEL, messages=[*system, *self.history], **more)
        message = answer.choices[0].message
        self.history.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
        wanted = [
            WantedCall(call.function.name, read_arguments(call.function.arguments), call.id)
            for call in message.tool_calls or []
        ]
        return ModelAnswer(message.content or "", wanted)
