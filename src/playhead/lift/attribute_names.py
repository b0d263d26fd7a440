"""One name per idea on a lifted span: older attribute names become today's, and a GenAI span gets its kind."""

from playhead.model import names
from playhead.model.span import Attributes

# What providers were called under the older name, where that differs.
_PROVIDERS = {
    "az.ai.inference": "azure.ai.inference",
    "az.ai.openai": "azure.ai.openai",
    "gemini": "gcp.gemini",
    "vertex_ai": "gcp.vertex_ai",
    "xai": "x_ai",
}
_SAME_NAME = frozenset({
    "anthropic", "aws.bedrock", "azure.ai.inference", "azure.ai.openai", "cohere", "deepseek", "gcp.gemini",
    "gcp.gen_ai", "gcp.vertex_ai", "groq", "ibm.watsonx.ai", "mistral_ai", "openai", "perplexity", "x_ai",
})  # fmt: skip
_RENAMED = {
    names.CACHE_CREATION_TOKENS: names.CACHE_WRITE_TOKENS,
    "gen_ai.usage.prompt_tokens": names.INPUT_TOKENS,
    "gen_ai.usage.completion_tokens": names.OUTPUT_TOKENS,
}


def normalise(attributes: Attributes) -> None:
    """Changes the attributes in place.  What stands under today's name wins; an older name that differs stays too."""
    for old, new in _RENAMED.items():
        if old in attributes and attributes.setdefault(new, attributes[old]) == attributes[old]:
            del attributes[old]
    if names.SYSTEM in attributes:
        _normalise_provider(attributes)
    if names.KIND not in attributes and (kind := _kind(attributes)) is not None:
        attributes[names.KIND] = kind


def _normalise_provider(attributes: Attributes) -> None:
    system = attributes[names.SYSTEM]
    if not isinstance(system, str):
        return
    provider = _PROVIDERS.get(system, system)
    # A value that the conventions never had may mean more to its writer than a provider.
    if attributes.setdefault(names.PROVIDER, provider) == provider and provider in _SAME_NAME:
        del attributes[names.SYSTEM]


def _kind(attributes: Attributes) -> str | None:
    operation = attributes.get(names.OPERATION)
    if isinstance(operation, str) and operation in names.KIND_OF_OPERATION:
        return names.KIND_OF_OPERATION[operation]
    return "tool" if names.TOOL_NAME in attributes and operation is None else None
