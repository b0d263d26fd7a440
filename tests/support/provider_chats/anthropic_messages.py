"""Anthropic's Messages."""

from typing import Any

import anthropic

from tests.support.provider_chats.chat import MODEL, ModelAnswer, ProviderChat, WantedCall, parameters_of


class AnthropicMessages(ProviderChat):
    def connect(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key="none", http_client=self.server.http_client())

    def user_message(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: list[tuple[WantedCall, str]]) -> list[Any]:
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call, result in results]
        return [{"role": "user", "content": blocks}]

    def ask(self) -> ModelAnswer:
        more: dict[str, Any] = {"system": self.system} if self.system else {}
        if self.tools:
            more["tools"] = [{"name": name, "input_schema": parameters_of(name)} for name in self.tools]
        answer = self.client.messages.create(model=MODEL, max_tokens=1024, messages=self.history, **more)
        blocks = [block.model_dump(mode="json") for block in answer.content]
        self.history.append({"role": "assistant", "content": blocks})
        wanted = [
            WantedCall(block.name, dict(block.input) if isinstance(block.input, dict) else {}, block.id)
            for block in answer.content
            if block.type == "tool_use"
        ]
        return ModelAnswer("".join(block.text for block in answer.content if block.type == "text"), wanted)
