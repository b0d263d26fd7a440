"""The tables of docs/compaction.md, made of results.json. Pure, but for the names of the files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

SHARES = (0.3, 0.6)
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "compaction.md"
_BEGIN, _END = "<!-- tables -->\n", "<!-- end of tables -->\n"
_COLUMNS = (
    *("project", "strategy, and what stays", "changed", "facts kept", "facts lost", "lost, and used later", "in runs"),
    *("tokens saved", "used later per 1,000 tokens saved", "calls"),
)
_HEAD = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"


class MethodResults(TypedDict):
    """One method. `figures`: by share (`30%`) the fields of `Figures`."""

    project: str
    title: str
    version: str
    figures: dict[str, dict[str, int]]


class Results(TypedDict):
    """What results.json has. `not_measured`: projects."""

    methods: list[MethodResults]
    not_measured: list[str]


def merged(old: Results, new: Results) -> Results:
    """Returns the old results with those of projects that were measured again, in their old places."""
    again = {each["project"] for each in new["methods"]}
    sources = {each["project"]: new if each["project"] in again else old for each in (*old["methods"], *new["methods"])}
    methods = [each for project, source in sources.items() for each in source["methods"] if each["project"] == project]
    missing = [named for named in old["not_measured"] if named.partition(" (")[0] not in again]
    return {"methods": methods, "not_measured": missing}


def with_tables(page: str, results: Results) -> str:
    """Returns the page with the tables between its marks."""
    head, _, rest = page.partition(_BEGIN)
    return f"{head}{_BEGIN}{tables(results)}{_END}{rest.partition(_END)[2]}"


def tables(results: Results) -> str:
    """Returns a table for each share, and what was measured."""
    parts = [_table(results, f"{share:.0%}") for share in SHARES]
    versions = dict.fromkeys(f"{each['project']} {each['version']}" for each in results["methods"])
    parts.append(f"Measured: {', '.join(versions)}.\n")
    if results["not_measured"]:
        parts.append(f"Not measured, since not installed: {', '.join(results['not_measured'])}.\n")
    return "\n".join(parts)


def _table(results: Results, share: str) -> str:
    first = results["methods"][0]["figures"][share]
    caption = (
        f"**At {share} of the length**: {first['conversations']} conversations with {first['facts']:,} facts and "
        f"{first['tokens_before']:,} tokens.\n\n"
    )
    rows = "".join(_row(each["project"], each["title"], each["figures"][share]) for each in results["methods"])
    return caption + _HEAD + rows


def _row(project: str, title: str, figures: Mapping[str, int]) -> str:
    facts, lost = figures["facts"], figures["lost"]
    saved = figures["tokens_before"] - figures["tokens_after"]
    failed = f" ({figures['failed']} failed)" if figures["failed"] else ""
    cells = [
        project, title, f"{figures['changed']}{failed}",
        f"{facts - lost:,} ({_share(facts - lost, facts)})", f"{lost:,}",
        f"{figures['used']:,}", f"{figures['hit']}",
        f"{saved:,} ({_share(saved, figures['tokens_before'])})",
        f"{1_000 * figures['used'] / saved:.1f}" if saved > 0 else "-",
        f"{figures['calls']}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
