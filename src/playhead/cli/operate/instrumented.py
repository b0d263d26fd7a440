"""`playhead doctor`: installed libraries, their instrumentations, and calls that would be recorded twice."""

import importlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec

from packaging.requirements import Requirement

from playhead.capture.registry import LIBRARIES
from playhead.model.instrumentations import FAMILIES, family_of

Line = dict[str, str]

# The last part of an instrumentor's module -> the library, where they differ.
_LIBRARY_OF = {
    "openai_v2": "openai", "openai_agents": "agents", "openai_agents_v2": "agents", "langchain": "langchain_core",
    "bedrock": "botocore", "google_genai": "google.genai", "google_generativeai": "google.genai",
}  # fmt: skip
_OFF = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"


def libraries(prefer: str) -> Iterator[Line]:
    """Yields a line for each installed library that Playhead instruments. `prefer`: the instrumentation whose record of
    a call counts."""
    others = _others()
    for library, path in LIBRARIES.items():
        if find_spec(library.partition(".")[0]) is None or find_spec(library) is None:
            continue
        requirement = Requirement(str(importlib.import_module(path).SUPPORTS))
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:  # a module of that name that is not the library
            continue
        supported = requirement.specifier.contains(installed, prereleases=True)
        ours = "recorded" if supported else f"not recorded: this needs {requirement}; update it"
        yield {
            "of": "library", "setting": f"{library} {installed}",
            "value": "; ".join([ours, *_seen_twice(others.get(library, {}), prefer if supported else "")]),
            "from": f"playhead-{library}",
        }  # fmt: skip


def _seen_twice(others: dict[str, list[str]], prefer: str) -> Iterator[str]:
    """Yields notes: which other instrumentations can record the same calls, which one counts, and how to switch one
    off."""
    if not others:
        return
    recorders = [f"{family} ({', '.join(others[family])})" for family in FAMILIES if family in others]
    yield f"also by {', '.join(recorders)} where these are on"
    if prefer:
        counted = prefer if prefer in others else FAMILIES[0]
        yield f"each call is counted once, by {counted} (PLAYHEAD_PREFER); to switch one off: {_OFF}, or uninstall it"


def _others() -> dict[str, dict[str, list[str]]]:
    """Returns library → family → distributions with an instrumentor for it."""
    by_library: dict[str, dict[str, list[str]]] = {}
    for entry in entry_points(group="opentelemetry_instrumentor"):
        module, distribution = entry.value.partition(":")[0], entry.dist
        family, last = family_of(module), module.rpartition(".")[2]
        if family is not None and distribution is not None:
            named = f"{distribution.name} {distribution.version}"
            by_library.setdefault(_LIBRARY_OF.get(last, last), {}).setdefault(family, []).append(named)
    return by_library
