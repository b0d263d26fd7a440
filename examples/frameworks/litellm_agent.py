"""An agent on LiteLLM: a router that falls back to another provider is one recorded call, and names who answered.

    python examples/frameworks/litellm_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

import json
import os
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm

import playhead
from playhead import observe
from playhead.testing import MockModelServer, Rule, server_error, text, tool_call, tool_result_received

playhead.instrument()
litellm.suppress_debug_info = True
TOOLS: list[Any] = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


@observe(kind="tool")
def look_up(order: str) -> str:
    return f"{order} is delayed by two days"


@observe
def agent(router: litellm.Router, question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        said = router.completion(model="support", messages=messages, tools=TOOLS).choices[0].message
        messages.append(said)
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main() -> None:
    overloaded = Rule("the first provider is asked", lambda request: request.model == "gpt-4o-mini")
    with MockModelServer() as model:
        model.when(overloaded, server_error(503))
        model.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        model.otherwise(text("Your order A1 is delayed by two days."))
        at = {"api_base": model.base_url, "api_key": "none", "max_retries": 0}
        router = litellm.Router(
            model_list=[
                {"model_name": "support", "litellm_params": {"model": "openai/gpt-4o-mini", **at}},
                {"model_name": "spare", "litellm_params": {"model": "deepseek/deepseek-chat", **at}},
            ],
            fallbacks=[{"support": ["spare"]}],
            num_retries=0,
        )
        print(agent(router, "Where is my order A1?"))


if __name__ == "__main__":
    main()
