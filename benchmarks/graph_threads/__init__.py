"""G1: a chat on LangGraph, kept by our checkpointer and by the official Postgres saver."""
