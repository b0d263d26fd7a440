"""Normalises the attribute names of a lifted span: replaces older names by current ones, and copies sessions, models
and tokens from a dialect's names to ours.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from playhead.lift.dialects import DIALECTS
from playhead.lift.extraction import previous_response
from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes

# Values of a provider under the older attribute name → current values, where they differ.
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


# Their name → (priority, our name). The first name in a dialect's table has precedence.
_ALIASES: Final = {
    theirs: (priority, ours)
    for priority, (theirs, ours) in enumerate(
        (theirs, ours) for dialect in DIALECTS for theirs, ours in dialect.ALIASES.items()
    )
}
# Attributes that the UI shows and filters by; they are not content.
ADDED: Final = frozenset(ours for _, ours in _ALIASES.values())
_MOST_CHARACTERS: Final = 256  # of an id or a name
_NO_PROJECT: Final = "default"  # Phoenix's project for spans that name no project
_LISTED: Final = frozenset({names.FINISH_REASONS, names.RUN_TAGS})
_MEMBER: Final = "FinishReason."
_CAMEL_CASE: Final = re.compile(r"(?:[A-Z][a-z]+){1,4}")
_CAPITAL: Final = re.compile(r"(?<=[a-z])[A-Z]")
_UNNAMED_MODEL_CALL: Final = (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.INPUT_TOKENS)
_AG2_SPAN: Final = "ag2.span.type"  # "usage": beside the span of a model call, another one with its tokens
_MODELS: Final = (names.REQUEST_MODEL, names.RESPONSE_MODEL)


def use_current_names(attributes: Attributes, kind: str | None) -> None:
    """Normalises attribute names in place. A current name has precedence; an older name with another value stays, too.

    `kind`: the kind from a dialect, None if no dialect knows it.
    """
    for old, new in _RENAMED.items():
        if old in attributes and attributes.setdefault(new, attributes[old]) == attributes[old]:
            del attributes[old]
    if names.SYSTEM in attributes:
        _normalise_provider(attributes)
    if (response := previous_response(attributes)) is not None and attributes.get(names.CONVERSATION) == response:
        del attributes[names.CONVERSATION]  # it changes with each call, so it is no session
        attributes[names.PREVIOUS_RESPONSE] = response
    names_model = any(isinstance(attributes.get(name), str) and attributes[name] for name in _MODELS)
    _add_aliases(attributes)
    if names.FINISH_REASONS in attributes:
        attributes[names.FINISH_REASONS] = _plain_reasons(attributes[names.FINISH_REASONS])
    if names.KIND not in attributes and (kind := kind or _kind(attributes, names_model=names_model)) is not None:
        attributes[names.KIND] = kind


def add_project(attributes: Attributes, resource: Attributes) -> None:
    """Adds the project that a resource names (in Phoenix, a group of traces) to the run's tags, in place."""
    project = resource.get(names.PROJECT_NAME)
    if not isinstance(project, str) or not _is_simple(project) or project == _NO_PROJECT:
        return
    tags = _as_list(attributes.get(names.RUN_TAGS, []))
    if project not in tags:
        attributes[names.RUN_TAGS] = [*tags, project]


def _add_aliases(attributes: Attributes) -> None:
    best: dict[str, tuple[int, Any]] = {}
    for key, value in attributes.items():
        alias = _ALIASES.get(key)
        if alias is not None and _is_simple(value):
            priority, ours = alias
            if ours not in attributes and (ours not in best or priority < best[ours][0]):
                best[ours] = priority, value
    for ours, (_, value) in best.items():
        attributes[ours] = _as_list(value) if ours in _LISTED else value


def _plain_reasons(reasons: JsonValue) -> JsonValue:
    """Returns finish reasons in the conventions' words: senders also write the name of an enum's member
    (Semantic Kernel: `FinishReason.STOP` in Python, `ToolCalls` in .NET), and several of them in one text."""
    if not isinstance(reasons, list | tuple):
        return reasons
    split = [part for reason in reasons for part in _members(reason)]
    return split if split != list(reasons) else reasons


def _members(reason: JsonValue) -> list[JsonValue]:
    if isinstance(reason, str) and _CAMEL_CASE.fullmatch(reason):
        return [_CAPITAL.sub(r"_\g<0>", reason).lower()]
    if not isinstance(reason, str) or not reason.startswith(_MEMBER):
        return [reason]
    return [part.removeprefix(_MEMBER).lower() for part in reason.split(",")]


def _is_simple(value: JsonValue) -> bool:
    """Whether a value can be an id, a name or a number, or a list of up to 32 ids or names."""
    if isinstance(value, list | tuple):
        return 0 < len(value) <= 32 and all(isinstance(item, str) and _is_simple(item) for item in value)
    if isinstance(value, str):
        return 0 < len(value) <= _MOST_CHARACTERS
    return isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63)


def _as_list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else [value]


def _normalise_provider(attributes: Attributes) -> None:
    system = attributes[names.SYSTEM]
    if not isinstance(system, str):
        return
    provider = _PROVIDERS.get(system, system)
    # A value that the conventions do not define is kept under the old name, too: it may be more than a provider.
    if attributes.setdefault(names.PROVIDER, provider) == provider and provider in _SAME_NAME:
        del attributes[names.SYSTEM]


def _kind(attributes: Attributes, *, names_model: bool) -> str | None:
    """Kind of a span for which no dialect knows one: `tool` if it has a tool name; `llm` if it has a model under
    OpenTelemetry's names and is not an agent's, or a model and messages or input tokens; else None.

    `names_model`: whether the model was there before the aliases were added."""
    if names.OPERATION in attributes or attributes.get(_AG2_SPAN) == "usage":
        return None
    if names.TOOL_NAME in attributes:
        return "tool"
    if names_model and names.AGENT_NAME not in attributes:
        return "llm"
    has_model = any(name in attributes for name in _MODELS)
    return "llm" if has_model and any(name in attributes for name in _UNNAMED_MODEL_CALL) else None
