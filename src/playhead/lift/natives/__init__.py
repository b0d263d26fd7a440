"""Reads requests, answers and messages in the forms of providers and frameworks, from the JSON in any dialect.

    bodies       a whole request or answer: its messages, system instructions, tools, and other fields
    message      one message in any known form → our form
    langchain    messages in LangChain's form
    canonical    removes what telemetry adds to messages, so that one conversation has one thread

Pure. Returns None for an unknown form; the value is then stored unchanged.
"""
