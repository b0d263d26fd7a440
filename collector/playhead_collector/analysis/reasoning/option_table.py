"""[analysis]: options that a model wrote as a table of Markdown, with the ranges of its cells. Pure."""

import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from playhead_collector.analysis.reasoning.structured_text import CON, NAMES, PRO, ConsideredOption, TextRange

_RULE = re.compile(r"[|:\-+ \t]{3,2000}+")
_KINDS = {kind: re.compile(NAMES[kind], re.IGNORECASE) for kind in (PRO, CON)}
_EMPHASIS = " \t*_`"


def read_option_table(text: str, start: int, end: int) -> tuple[list[ConsideredOption], list[TextRange]]:
    """The options in a range that has a table: a head, a line, and one row for each option, its name first. What stands
    below `Pros` and `Cons` is for and against it. Also returns the titles of other columns, and the lines around the
    table. Empty if there is none."""
    lines = _lines(text, start, end)
    rows = [(line, _cells(text, *line)) for line in lines]
    rule = next(
        (at for at, (line, cells) in enumerate(rows) if cells and _RULE.fullmatch(text[slice(*line)].strip())), 0
    )
    if not rule or not rows[rule - 1][1]:
        return [], []
    last = next((at for at in range(rule, len(rows)) if not rows[at][1]), len(rows))
    titles = rows[rule - 1][1]
    head = [_kind(text[cell.start : cell.end]) for cell in titles]
    rest = [cell for cell, kind in list(zip(titles, head, strict=True))[1:] if kind is None and cell.start < cell.end]
    around = [line for at, (line, _) in enumerate(rows) if not rule - 1 <= at < last]
    options = [_option(head, cells) for _, cells in rows[rule + 1 : last]]
    return options, sorted([*rest, *(TextRange(*line) for line in around)], key=lambda piece: piece.start)


def _kind(title: str) -> str | None:
    return next((kind for kind, names in _KINDS.items() if names.fullmatch(title)), None)


def _option(head: Sequence[str | None], row: Sequence[TextRange]) -> ConsideredOption:
    option = ConsideredOption(row[0])
    for kind, cell in zip_longest(head[1 : len(row)], row[1:]):
        if cell.start < cell.end:
            (option.pros if kind == PRO else option.cons if kind == CON else option.about).append(cell)
    return option


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    for line in text[start:end].splitlines(keepends=True):
        if line.strip():
            lines.append((start, start + len(line.rstrip())))
        start += len(line)
    return lines


def _cells(text: str, start: int, end: int) -> list[TextRange]:
    """The cells of a row; empty if the line is none."""
    bars = [place for place in range(start, end) if text[place] == "|"]
    if len(bars) < 2 or text[start : bars[0]].strip() or text[bars[-1] + 1 : end].strip():
        return []
    return [_trimmed(text, left + 1, right) for left, right in pairwise(bars)]


def _trimmed(text: str, start: int, end: int) -> TextRange:
    while start < end and text[start] in _EMPHASIS:
        start += 1
    while end > start and text[end - 1] in _EMPHASIS:
        end -= 1
    return TextRange(start, end)
