"""The tables of docs/decorators.md: what each tool gets right, and what is wrong otherwise."""

from collections.abc import Mapping
from typing import Any

from benchmarks.peers.cases import ALL

NAMES = {
    "langfuse": ("Langfuse", "`@observe`"),
    "langsmith": ("LangSmith", "`@traceable`"),
    "logfire": ("Logfire", "`@instrument(allow_generator=True)`"),
    "mlflow": ("MLflow", "`@mlflow.trace`"),
    "openinference": ("OpenInference", "`@tracer.chain`"),
    "traceloop": ("Traceloop", "`@task()`"),
}
"""How each tool and its decorator are written."""


def tables(results: Mapping[str, Any], own: Mapping[str, str | None]) -> str:
    """Markdown. `results` is the content of results.json, `own` what was wrong with Playhead by the case's title."""
    tools: dict[str, dict[str, str | None]] = {"Playhead": dict(own)}
    tools |= {NAMES[name][0]: found["wrong"] for name, found in results["tools"].items()}
    lines = [
        f"| case | expected | {' | '.join(tools)} |",
        f"|---|---|{'---|' * len(tools)}",
        *(
            f"| {case.title} | {case.expected} | {' | '.join(_mark(wrong, case.title) for wrong in tools.values())} |"
            for case in ALL
        ),
        "",
        f"Run on {results['date']} with Python {results['python']}. What was wrong:",
        "",
        "| tool | decorator, version | case: what was found |",
        "|---|---|---|",
        *(_row(name, found) for name, found in results["tools"].items()),
    ]
    return "\n".join(lines) + "\n"


def _mark(wrong: Mapping[str, str | None], title: str) -> str:
    return "-" if title not in wrong else "✗" if wrong[title] else "✓"


def _row(name: str, found: Mapping[str, Any]) -> str:
    tool, decorator = NAMES[name]
    wrong = "<br>".join(f"{title}: {why}" for title, why in found["wrong"].items() if why)
    return f"| {tool} | {decorator}, {found['version']} | {wrong} |"
