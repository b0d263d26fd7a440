"""A bar, what was measured, and whether it holds; how results are shown and kept."""

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.  `against` is what it was compared with, or what it was measured on; None: not measured."""

    id: str
    what: str
    value: float | None
    unit: str
    bar: str
    against: str
    holds: bool | None


def at_most(bar_id: str, what: str, value: float, limit: float, *, unit: str, against: str) -> Row:
    return Row(bar_id, what, value, unit, f"<= {_short(limit)}", against, value <= limit)


def at_least(bar_id: str, what: str, value: float, limit: float, *, unit: str, against: str) -> Row:
    return Row(bar_id, what, value, unit, f">= {_short(limit)}", against, value >= limit)


def told(bar_id: str, what: str, value: float, *, unit: str, against: str) -> Row:
    """A figure that belongs to a bar and has none of its own."""
    return Row(bar_id, what, value, unit, "", against, None)


def not_measured(bar_id: str, what: str, reason: str) -> Row:
    return Row(bar_id, what, None, "", "", f"not measured: {reason}", None)


def failed(bar_id: str, why: str) -> Row:
    return Row(bar_id, "could not be measured", None, "", "", why, False)


def median(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    return statistics.median(measure() for _ in range(rounds))


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def show(rows: Iterable[Row]) -> None:
    table = Table("bar", "what", "value", "must be", "holds", "against", box=None, header_style="dim", pad_edge=False)
    for row in rows:
        value = "" if row.value is None else f"{_short(row.value)} {row.unit}"
        table.add_row(row.id, row.what, value, row.bar, _HOLDS[row.holds], row.against)
    Console(width=180).print(table)


def keep(rows: Iterable[Row], path: Path) -> None:
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


_HOLDS = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}


def _short(value: float) -> str:
    if 0 < value < 0.5 and 1 / value < 1000:
        return f"{value:.4g} (1/{1 / value:.3g})"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
