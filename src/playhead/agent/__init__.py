"""A small agent, and tasks: the loop that every agent has, typed, recorded, and resumable at every step.

signatures     a function's parameters as a JSON schema, and the check of what a model gave for them
tools          Tool, and its call: approval, the observed call, the text for the model
mcp_tools      tools of an MCP server
outputs        the type of an answer: its schema, and reading it
results        what an agent is asked, and what comes of it
settings       what an agent was made with
agent_context  AgentContext: what a loop has in its hands
agents         Agent: the default loop, a run of it, its result
conversing     the conversation of a run: read before it, saved after it
streams        the events of a run while it goes on
tasks          LlmTask: one question with a typed answer

Needs pydantic: `pip install 'playhead[agent]'`.
"""

try:
    import pydantic as _pydantic
except ModuleNotFoundError as missing:
    raise ImportError(
        "playhead.tool, playhead.LlmTask and playhead.Agent need pydantic: pip install 'playhead[agent]'"
    ) from missing

del _pydantic
