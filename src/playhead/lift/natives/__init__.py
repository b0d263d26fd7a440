"""Requests, answers and messages as providers and frameworks write them, wherever a dialect has put their JSON.

    bodies       a request's or answer's JSON, whole: its messages, system instructions, tools, and what else it says
    message      one message in any known form → ours
    langchain    messages as LangChain writes them
    canonical    what telemetry adds to messages, taken away, so that one conversation has one thread

Pure.  What has no known form is None: then it stays as it came, as content.
"""
