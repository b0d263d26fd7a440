"""Where did the agent choose, what did it choose, and what else was open?

Method: decisions are answers of models, tool calls that models requested, and recorded handoffs, branches, approvals
and ends of runs. The alternatives are the tools and values that were offered, and the choices that other model calls
with exactly the same context made.
"""
