"""Shared code for the client libraries that Stainless generates: `openai` and `anthropic`."""
