"""An agent of `plain_agents` with three tools; it prints the answer."""

import sys

from plain_agents import PlainAgent, PlainTool

from playhead.testing.order_tools import QUESTION, audit, look_up, refund

agent = PlainAgent("clerk", [PlainTool(tool) for tool in (look_up, audit, refund)], streams="stream" in sys.argv)
print(agent.run(QUESTION))  # noqa: T201 - what it prints is what the check reads
