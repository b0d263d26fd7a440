"""What the client libraries that Stainless generates have in common: `openai` and `anthropic`."""
