"""A small framework of agents, as somebody else would write one: it knows nothing of Playhead."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import openai


@dataclass
class ToolOutput:
    """What a tool says to the agent."""

    text: str
    is_error: bool = False


@dataclass
class PlainTool:
    """A function that the model may ask for."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        return self.function.__name__

    def execute(self, arguments: dict[str, Any], call_id: str) -> ToolOutput:
        """Its errors are told to the model."""
        try:
            return ToolOutput(json.dumps(self.function(**arguments)))
        except ValueError as error:
            return ToolOutput(str(error), is_error=True)


@dataclass
class PlainAgent:
    """Asks its model until that asks for no tool."""

    name: str
    tools: list[PlainTool]
    streams: bool = False
    client: openai.OpenAI = field(default_factory=lambda: openai.OpenAI(max_retries=0))

    def run(self, question: str) -> str:
        """Returns the last answer."""
        system = {"role": "system", "content": f'You are "{self.name}".\nBe kind.'}
        messages: list[Any] = [system, {"role": "user", "content": question}]
        while True:
            answer = self._ask(messages)
            messages.append(answer)
            if not answer.get("tool_calls"):
                return answer["content"]
            messages += [self._executed(call) for call in answer["tool_calls"]]

    def _executed(self, call: Any) -> dict[str, str]:
        tool = next(tool for tool in self.tools if tool.name == call["function"]["name"])
        output = tool.execute(json.loads(call["function"]["arguments"]), call["id"])
        return {"role": "tool", "tool_call_id": call["id"], "content": output.text}

    def _ask(self, messages: list[Any]) -> dict[str, Any]:
        offered: list[Any] = [{"type": "function", "function": {"name": tool.name}} for tool in self.tools]
        create: Any = self.client.chat.completions.create
        if not self.streams:
            answer = create(model="m", messages=messages, tools=offered)
            return answer.choices[0].message.model_dump(exclude_none=True)
        chunks = create(model="m", messages=messages, tools=offered, stream=True)
        return _joined(chunk.choices[0].delta for chunk in chunks if chunk.choices)


def _joined(deltas: Iterator[Any]) -> dict[str, Any]:
    content, calls = "", list[dict[str, Any]]()
    for delta in deltas:
        content += delta.content or ""
        for part in delta.tool_calls or ():
            if part.index == len(calls):
                calls.append({"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}})
            function = calls[part.index]["function"]
            function["name"] += part.function.name or ""
            function["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
