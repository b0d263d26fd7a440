"""What senders' telemetry loses of a conversation; docs/integrations.md shows it, and the tests hold it to be true."""

from collections.abc import Mapping

# No messages at all, whatever its user sets.
NO_CONTENT: Mapping[str, str] = {}
# The messages that a call was given are not those that the provider was sent.
CONTEXT_DIFFERS: Mapping[str, str] = {
    "openllmetry_langgraph": "the `name` that LangGraph gives to an agent's answers",
}
