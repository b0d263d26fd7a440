"""OpenAI's Responses, with the history kept by the program."""

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


class OpenAIResponses(ProviderChat):
    def connect(self) -> openai.OpenAI:
        return openai.OpenAI(api_key="none", http_client=self.server.http_client())

    def user_message(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: list[tuple[WantedCall, str]]) -> list[Any]:
        return [{"type": "function_call_output", "call_id": call.id, "output": result} for call, result in results]

    def ask(self) -> ModelAnswer:
        system = [{"role": "system", "content": self.system}] if self.system else []
        tools = [
            {"type": "function", "name": name, "parameters": parameters_of(name), "strict": False}
            for name in self.tools
        ]
        more = {"tools": tools} if tools else {}
        answer = self.client.responses.create(model=MODEL, input=[*system, *self.history], **more)
        self.history += [item.model_dump(exclude_none=True) for item in answer.output if item.type != "reasoning"]
        wanted = [
            WantedCall(item.name, read_arguments(item.arguments), item.call_id)
            for item in answer.output
            if item.type == "function_call"
        ]
        return ModelAnswer(answer.output_text, wanted)
