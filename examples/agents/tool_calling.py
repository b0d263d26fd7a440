"""Tool calling with an agent: each request makes the model call one tool, which works on what the run was given.

    pip install 'playhead[agent,openai]'
    python examples/agents/tool_calling.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os

import openai

import playhead
from playhead import AgentContext
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

REQUESTS = (
    "Please read the file with the prices.",
    "Please edit it: the discount has to be taken off.",
    "Please search for the places that use the function.",
)
FILES = {
    "shop/prices.py": "def discounted(total, discount):\n    return total * discount\n",
    "shop/orders.py": "from shop.prices import discounted\n",
}
Files = dict[str, str]


@playhead.tool(writes=False)
def read_file(context: AgentContext[Files], path: str) -> str:
    """A file's text."""
    return context.deps[path]


@playhead.tool(writes=True)
def edit_file(context: AgentContext[Files], path: str, old: str, new: str) -> str:
    """Replaces a text that occurs once in a file."""
    count = context.deps[path].count(old)
    if count != 1:
        raise ValueError(f"{old!r} occurs {count} times in {path}")
    context.deps[path] = context.deps[path].replace(old, new)
    return f"edited {path}"


@playhead.tool(writes=False)
def search(context: AgentContext[Files], text: str) -> list[str]:
    """Names of the files with this text."""
    return [path for path, content in context.deps.items() if text in content]


def solve(model: Model) -> str:
    """Two model calls for each request: one that asks for a tool, one that answers."""
    agent = playhead.Agent[Files](name="file_agent", model=model, tools=[read_file, edit_file, search])
    files = dict(FILES)
    with playhead.run("tool_calling"):
        replies = [agent.run_sync(request, deps=files) for request in REQUESTS]
    return "\n".join(f"{reply.tool_calls[0].name}: {reply.response}" for reply in replies)


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    mock = MockModelServer(scenario="tool_calling")
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=mock.http_client()))


if __name__ == "__main__":
    print(solve(model()))
