"""Where did the agent choose, what did it choose, and what else was open?

Method: each answer of a model that asks for tools, answers, hands off or stops is a decision; the alternatives are the
tools and values that its context offered, and what was chosen elsewhere in exactly the same context.
"""
