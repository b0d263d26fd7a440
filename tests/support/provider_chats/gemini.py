"""Gemini's generateContent, with the history kept by the program."""

from typing import Any

from google import genai
from google.genai import types

from tests.support.provider_chats.chat import MODEL, ModelAnswer, ProviderChat, WantedCall, parameters_of


class Gemini(ProviderChat):
    def connect(self) -> genai.Client:
        tries = types.HttpRetryOptions(attempts=4, initial_delay=0.001, max_delay=0.001)  # by itself it tries once
        options = types.HttpOptions(httpx_client=self.server.http_client(), retry_options=tries)
        return genai.Client(api_key="none", http_options=options)

    def user_message(self, text: str) -> Any:
        return types.Content(role="user", parts=[types.Part(text=text)])

    def results(self, results: list[tuple[WantedCall, str]]) -> list[Any]:
        parts = [
            types.Part(
                function_response=types.FunctionResponse(id=call.id, name=call.name, response={"result": result})
            )
            for call, result in results
        ]
        return [types.Content(role="user", parts=parts)]

    def ask(self) -> ModelAnswer:
        declared = [
            types.FunctionDeclaration(name=name, parameters_json_schema=parameters_of(name)) for name in self.tools
        ]
        settings = types.GenerateContentConfig(
            system_instruction=self.system or None,
            tools=[types.Tool(function_declarations=declared)] if declared else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        answer = self.client.models.generate_content(model=MODEL, contents=self.history, config=settings)
        content = answer.candidates[0].content
        self.history.append(content)
        parts = [part for part in content.parts or [] if not part.thought]
        calls = [part.function_call for part in parts if part.function_call]
        wanted = [WantedCall(call.name, dict(call.args or {}), call.id) for call in calls]
        return ModelAnswer("".join(part.text or "" for part in parts), wanted)
