"""What the instrumentations of agent frameworks share.

observing    spans of tools, agents, retrievers and guardrails     model_calls  a framework's own model classes
answers      people's answers that a framework waits for           chat         messages as Chat Completions
tool_state   what a tool changes in its framework's state
"""
