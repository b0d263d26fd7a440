"""Orchestrator with sub-agents: one model plans and delegates, others do the work, the first one puts it together.

    python examples/scenarios/orchestrator.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

TASK = "Is a heat pump worth it for a house of 120 m²?"
SUB_AGENTS = {
    "researcher": "You are a researcher. Find facts, and say them in one sentence.",
    "analyst": "You are an analyst. Compare numbers, and say the result in one sentence.",
    "writer": "You are a writer. Put what you are given into one sentence.",
}
PARAMETERS = {
    "type": "object",
    "properties": {"agent": {"type": "string", "enum": list(SUB_AGENTS)}, "task": {"type": "string"}},
    "required": ["agent", "task"],
}
DELEGATE: Any = {
    "type": "function",
    "function": {"name": "delegate", "description": "Has a sub-agent do a task.", "parameters": PARAMETERS},
}


class Orchestrator:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="orchestrator")
    def solve(self, task: str) -> str:
        messages: list[Any] = [
            {"role": "system", "content": "You plan, delegate to your agents, and combine what they find."},
            {"role": "user", "content": task},
        ]
        while True:
            message = self.ask(messages, tools=[DELEGATE])
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
            playhead.annotate(plan=[json.loads(call.function.arguments)["task"] for call in message.tool_calls])
            for call in message.tool_calls:
                result = self.delegate(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    @observe(kind="tool")
    def delegate(self, agent: str, task: str) -> str:
        with observe(agent, kind="agent") as call:
            message = self.ask([{"role": "system", "content": SUB_AGENTS[agent]}, {"role": "user", "content": task}])
            call.output(message.content)
            return message.content or ""

    def ask(self, messages: list[Any], **more: Any) -> Any:
        return self.client.chat.completions.create(model=self.model, messages=messages, **more).choices[0].message


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="orchestrator")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(Orchestrator(client).solve(TASK))


if __name__ == "__main__":
    main()
