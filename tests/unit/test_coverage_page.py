"""The page on what is tested of each library is made of the marks of the tests, and of the versions that are pinned."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.capture.registry import LIBRARIES
from tests.oldest.pinned import pinned

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"
WHAT = ("spans", "messages", "tools", "streaming", "usage", "reasoning", "errors", "resume", "fork")
# The library as marks name it: its import name, and its package.
PACKAGES = {
    "openai": ("openai", "openai"),
    "anthropic": ("anthropic", "anthropic"),
    "google-genai": ("google.genai", "google-genai"),
    "botocore": ("botocore", "boto3"),
    "groq": ("groq", "groq"),
    "huggingface_hub": ("huggingface_hub", "huggingface-hub"),
    "aiobotocore": ("aiobotocore", "aiobotocore"),
    "cohere": ("cohere", "cohere"),
    "mistralai": ("mistralai.client", "mistralai"),
    "ollama": ("ollama", "ollama"),
    "litellm": ("litellm", "litellm"),
    "together": ("together", "together"),
    "mcp": ("mcp", "mcp"),
    "langchain": ("langchain_core", "langchain-core"),
    "langgraph": ("langgraph", "langgraph"),
    "agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai-slim"),
    "crewai": ("crewai", "crewai"),
    "autogen": ("autogen_agentchat", "autogen-agentchat"),
    "claude-agent": ("claude_agent_sdk", "claude-agent-sdk"),
    "google-adk": ("google.adk", "google-adk"),
    "llama-index": ("llama_index.core", "llama-index-core"),
    "smolagents": ("smolagents", "smolagents"),
    "strands": ("strands", "strands-agents"),
    "openhands": ("openhands.sdk", "openhands-sdk"),
    "agent-framework": ("agent_framework", "agent-framework-core"),
    "ag2": ("ag2", "ag2"),
    "semantic-kernel": ("semantic_kernel", "semantic-kernel"),
    "agno": ("agno", "agno"),
    "dspy": ("dspy", "dspy"),
    "haystack": ("haystack", "haystack-ai"),
}
HEAD = """# Coverage

What is tested of each library that `playhead.instrument()` records: with the real library, against the mock model
server. This page is made from the tests: each is marked with what it proves (`@pytest.mark.covers`), and the versions
are those that the files of constraints pin.

The number is that of the tests. A dash: no test of this library itself; below the table is why.

`make test` runs all of these tests but those of CrewAI, which brings more than a gigabyte of packages
(`make test-crewai`), and those of OpenHands, which needs Python 3.12 (`make test-openhands`). Those of the oldest
versions alone are `make test-oldest`; a version older than that is left alone, and a warning names the version that is
needed. OpenHands is recorded by a package of its own, `captures/openhands`, through the
[contract](extending.md) that is open to everyone.

"""
_NO_MODEL = "its calls are of tools, resources and prompts: no model answers"
# Why there is no test.
REASONS = {
    ("mcp", "streaming"): "a result comes in one piece; notifications of progress reach the program and are no result",
    ("mcp", "usage"): _NO_MODEL,
    ("mcp", "reasoning"): _NO_MODEL,
    ("crewai", "reasoning"): (
        "its `reasoning` is a plan that it asks a model for, in calls that are recorded as all others; thinking is "
        "read from the answers of the clients above it in the table, which record and test it"
    ),
}
# Why there is no older one among the tested versions, or what the oldest cannot do.
OLDEST = {
    "openhands": (
        "1.0.0 is its first release; it has no streams (1.4), no tools at the same time (1.15) and no asynchronous "
        "conversations (1.24)"
    ),
    "agno": (
        "before 2.3.20 it starts the threads that make memories inside its run, so their model calls would be runs of "
        "their own; before 2.3.8 so would be the parallel steps of a workflow"
    ),
    "dspy": "before 3.0 its modules have another base class; before 3.4 all models run on LiteLLM",
    "haystack": (
        "2.20 is a year old, and was chosen for that; with Haystack 2, a tool changes its agent's `State` by what it "
        "returns (`outputs_to_state`), which Haystack does again on resume"
    ),
}
TAIL = """
*Spans*: calls are recorded, each once. *Messages*: what the model saw and said. *Tools*: definitions, requests and
results. *Streaming*: chunk by chunk, also left early. *Usage*: tokens of all kinds. *Reasoning*: thinking, with its
signatures. *Errors*: those of the provider, retries, broken streams. *Resume*: the library's own objects come back from
the record without a request. *Fork*: other answers, or other questions.
"""


def marks() -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Of each mark: library, what is proved, and how many tests have it (a module's mark: all of its tests)."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for test in tests:
            for node in test.decorator_list:
                if _is_covers(node):
                    yield *_said(node), 1
        count = sum(test.name.startswith("test_") for test in tests)
        for node in (node for each in tree.body if isinstance(each, ast.Assign) for node in ast.walk(each)):
            if _is_covers(node):
                yield *_said(node), count


def _is_covers(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return isinstance(node.func, ast.Attribute | ast.Name) and ast.unparse(node.func).split(".")[-1] == "covers"


def _said(node: ast.AST) -> tuple[str, tuple[str, ...]]:
    assert isinstance(node, ast.Call)
    library, *what = [ast.literal_eval(argument) for argument in node.args]
    return library, tuple(what)


def page() -> str:
    """The page's text."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for library, what, count in marks():
        assert library in PACKAGES, f"{library!r}: give it a line in PACKAGES"
        assert set(what) <= {*WHAT, "oldest"}, f"{library}: {what}"
        for each in what:
            counts[library, each] += count
    newest = _newest()
    oldest = _oldest()
    lines = [["library", *WHAT, "oldest version", "newest version"], ["---"] * (len(WHAT) + 3)]
    for library, (name, package) in PACKAGES.items():
        shown = f"`{name}`" if name == package else f"`{name}` ({package})"
        tested = oldest[package] if counts[library, "oldest"] else "-"
        lines.append([shown, *[str(counts[library, each] or "-") for each in WHAT], tested, newest[package]])
    untested = [(library, what) for library in PACKAGES for what in WHAT if not counts[library, what]]
    assert set(untested) == set(REASONS), "REASONS: why there is no test, for each dash and nothing else"
    reasons = [f"- `{PACKAGES[library][0]}`, {what}: {REASONS[library, what]}." for library, what in untested]
    reasons += [
        f"- `{PACKAGES[library][0]}`, oldest version: {OLDEST[library]}." for library in PACKAGES if library in OLDEST
    ]
    return "\n".join([HEAD + "\n".join(f"| {' | '.join(line)} |" for line in lines), "", *reasons, TAIL])


def _newest() -> dict[str, str]:
    return _pinned("", "-clients", "-frameworks", "-agents", "-crewai", "-openhands")


def _oldest() -> dict[str, str]:
    return _pinned("-oldest", "-oldest-frameworks", "-oldest-agents", "-oldest-crewai", "-oldest-openhands")


def _pinned(*files: str) -> dict[str, str]:
    """Versions by package, where a package is in several files: that of the first."""
    found: dict[str, str] = {}
    for file in files:
        found = {**pinned(f"constraints{file}.txt"), **found}
    return found


def _source(module: str) -> str:
    """Of a capture module, which is not imported: its library may not be here."""
    path = ROOT / "src" / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text(encoding="utf-8")


def test_the_page_says_what_is_tested(pytestconfig: pytest.Config):
    text = page()
    if pytestconfig.getoption("--write-golden"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "run pytest tests/unit/test_coverage_page.py --write-golden"


def test_the_reference_of_resume_names_every_library_whose_calls_are_answered():
    reference = (ROOT / "docs" / "reference-resume.md").read_text(encoding="utf-8")
    section = reference.partition("\n### Which libraries' calls are answered\n")[2].partition("\n### ")[0]
    resumed = {library for library, what, _ in marks() if "resume" in what}
    assert len(resumed) > 15
    assert [PACKAGES[library][0] for library in sorted(resumed) if f"`{PACKAGES[library][0]}`" not in section] == []
    assert "replayed" not in reference.partition("\n## Limits\n")[2]


def test_every_library_that_can_be_instrumented_is_on_the_page():
    listed = {name for name, _ in PACKAGES.values()}
    assert set(LIBRARIES) <= listed


def test_the_oldest_versions_are_those_that_are_said_to_be_supported():
    supports = {name: _source(path) for name, path in LIBRARIES.items()}
    # Of a library without an older version that is tested, the newest one is the oldest.
    oldest = _newest() | _oldest()
    for name, package in PACKAGES.values():
        if name in supports:
            [said] = [line for line in supports[name].splitlines() if line.startswith("SUPPORTS = ")]
            bound = said.split(">=")[1].strip(' "')
            assert f"{oldest[package]}.".startswith(f"{bound}."), said
