"""Decides whose record of a model call counts if several instrumentations of a library are on: `PLAYHEAD_PREFER`.

Ours counts by default. If another family is preferred and its instrumentor of a library is on, ours does not record
that library's calls: they have only the other family's span, and cannot be resumed. `INSTRUMENTORS` lists the other
families' instrumentors of the libraries that we instrument.
"""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Final

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.calls import runtime
from playhead.calls.runtime import UNCONFIGURED
from playhead.model.instrumentations import FAMILIES, family_of

OURS = FAMILIES[0]

# Top module of the library -> family -> modules with its instrumentor.
INSTRUMENTORS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "openai": {
        "opentelemetry": ("opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.openai_v2"),
        "openinference": ("openinference.instrumentation.openai",),
        "openllmetry": ("opentelemetry.instrumentation.openai",),
    },
    "anthropic": {
        "opentelemetry": ("opentelemetry.instrumentation.genai.anthropic",),
        "openinference": ("openinference.instrumentation.anthropic",),
        "openllmetry": ("opentelemetry.instrumentation.anthropic",),
    },
    "google": {
        "opentelemetry": (
            "opentelemetry.instrumentation.genai.google_genai",
            "opentelemetry.instrumentation.google_genai",
        ),
        "openinference": ("openinference.instrumentation.google_genai",),
        "openllmetry": ("opentelemetry.instrumentation.google_generativeai",),
    },
    "groq": {
        "openinference": ("openinference.instrumentation.groq",),
        "openllmetry": ("opentelemetry.instrumentation.groq",),
    },
    "litellm": {
        "opentelemetry": ("opentelemetry.instrumentation.genai.litellm",),
        "openinference": ("openinference.instrumentation.litellm",),
        "openllmetry": ("opentelemetry.instrumentation.litellm",),
    },
    "botocore": {
        "opentelemetry": ("opentelemetry.instrumentation.genai.bedrock",),
        "openinference": ("openinference.instrumentation.bedrock",),
        "openllmetry": ("opentelemetry.instrumentation.bedrock",),
    },
    "together": {"openllmetry": ("opentelemetry.instrumentation.together",)},
}


def is_recorded_by_other_instrumentation(library: str) -> bool:
    """Whether a preferred instrumentation of others records the calls of this library (given by its top module)."""
    if runtime.current is UNCONFIGURED:
        runtime.recorder()
    family = runtime.current.prefer
    if family == OURS:
        return False
    return any(map(is_active, INSTRUMENTORS.get(library, {}).get(family, ())))


def is_preferred_scope(scope: str) -> bool:
    """Whether spans of this instrumentation scope belong to the family that is preferred to ours."""
    family = runtime.current.prefer
    return family != OURS and family_of(scope) == family


def is_active(module_name: str) -> bool:
    """Whether the instrumentor in this module is switched on in this process.  Imports nothing."""
    module = sys.modules.get(module_name)
    return module is not None and any(
        instrumentor.is_instrumented_by_opentelemetry for instrumentor in _instrumentors(module)
    )


def _instrumentors(module: ModuleType) -> Iterator[BaseInstrumentor]:
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, BaseInstrumentor):
            instance = getattr(value, "_instance", None)
            if isinstance(instance, BaseInstrumentor):
                yield instance
