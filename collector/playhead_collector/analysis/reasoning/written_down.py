"""[analysis]: parses reasoning that a model wrote in a form: in `<reasoning>` of its answer or its thinking.

Models follow the form only roughly. Fields are tags (`<goal>`), labels (`Goal: ...`, `**Goal**`, `## Goal`) or keys
of a JSON object. Options are tags, or lines with a bullet or a number. Text that belongs to no field is kept as
`rest`, so that every character that is no markup is in exactly one range. Pure; never fails.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeGuard

from playhead_collector.analysis.reasoning.json_form import read_json_form, read_json_within
from playhead_collector.analysis.reasoning.option_table import read_option_table
from playhead_collector.analysis.reasoning.structured_text import (
    CON,
    NAMES,
    OPTION,
    OPTIONS,
    PRO,
    REST,
    ConsideredOption,
    StructuredText,
    TextRange,
)

# Hyphen, en dash and em dash.
_DASHES = "-\u2013\u2014"
_EMPHASIS = "*_`"
_FIELD = "|".join(f"(?P<{{0}}{name}>{words})" for name, words in NAMES.items())
_TAG = re.compile(rf"<(?P<close>/?)(?:{_FIELD.format('t_')})(?P<attributes>(?:\s[^<>]*)?)/?>", re.IGNORECASE)
_LABEL = re.compile(
    rf"(?:^|(?<=>))(?P<lead>[ \t>#]{{0,32}}+(?:[^\x00-\x7f\w]{{1,4}}+[ \t]{{0,4}}+)?"
    rf"(?:[-*•+][ \t]{{1,8}}|\d{{1,4}}+[.)][ \t]{{1,8}})?[*_`\"]{{0,8}})"
    rf"(?:{_FIELD.format('l_')})(?P<number>[ \t]{{1,8}}[\w.]{{1,3}})?"
    rf"(?P<tail>[*_`\"]{{0,8}}[ \t]{{0,8}}(?:[:\uff1a][*_`\"]{{0,8}}|[{_DASHES}](?=[ \t])|$))",
    re.IGNORECASE | re.MULTILINE,
)
_HEADED = re.compile(
    r"^[ \t]{0,32}+#{1,16}+[ \t]{0,16}+(?=(?:option|alternative|approach)\b)", re.IGNORECASE | re.MULTILINE
)
_KEY = re.compile(
    rf"(?<=[{{\[,])\s{{0,64}}+\"(?:{_FIELD.format('k_')}|(?P<k_name>name|title))\"\s{{0,16}}+:\s{{0,64}}+(?=[\"\[{{])",
    re.IGNORECASE,
)
_BULLET = re.compile(
    r"(?:^|(?<=>))(?P<indent>[ \t]{0,32}+)(?P<sign>[-*•・+✓✗]|\d{1,4}+[.)]"
    r"|\([a-z\d]\)|[A-Z][.)]|[a-z]\))(?:[ \t]{1,16}+|(?<=[・•]))",
    re.MULTILINE,
)
_INLINE = re.compile(
    r"(?<![\w])(?P<kind>pros?|cons?|advantages?|disadvantages?)[ \t]{0,8}[:\uff1a][ \t]{0,8}", re.IGNORECASE
)
_BETWEEN_ITEMS = re.compile(r"[;\uff1b]|\"\s{0,64}+,\s{0,64}+(?=\")")
_NAMED = re.compile(r"name\s{0,8}+=\s{0,8}+[\"']([^\"']{0,200}+)[\"']", re.IGNORECASE)
_BETWEEN_STRINGS = re.compile(r"\"\s{0,64}+,\s{0,64}+(?=\")")
# `name: Refund` and `Option: Refund` are options named Refund.
_NAME_KEY = re.compile(r"(?:name|title|option)[ \t]{0,8}[:\uff1a][ \t]{1,8}(?=\S)", re.IGNORECASE)
# The line under a heading.
_UNDERLINE = re.compile(r"[ \t]{0,32}+\n(?:-{3,200}+|={3,200}+)[ \t]{0,32}+(?:\n|\Z)")
_FOR, _AGAINST = "+✓", "-✗"
_NAME_ENDS = re.compile(rf"[ \t]{{0,8}}(?:[:\uff1a]|[{_DASHES}](?=\s)|\n)")


def read_structured(text: str, tag: str) -> list[StructuredText]:
    """All blocks with this tag, in order. A block that is not closed ends with the text."""
    return [_read(text, *block.span(1)) for block in block_pattern(tag).finditer(text)]


@cache
def block_pattern(tag: str) -> re.Pattern[str]:
    """Pattern of blocks with this tag; group 1 is the block's content."""
    name = re.escape(tag)
    return re.compile(rf"<{name}(?:\s[^<>]{{0,500}}+)?>(.*?)(?:</{name}\s{{0,16}}+>|\Z)", re.DOTALL | re.IGNORECASE)


def parse_block(text: str) -> StructuredText:
    """Parses a whole text (captured thinking) as one block."""
    return _read(text, 0, len(text))


@dataclass(frozen=True, slots=True)
class _FieldMark:
    """Where a field begins (or, in a closing tag, ends), and its markup."""

    kind: str
    start: int
    end: int
    closes: bool = False
    name: TextRange | None = None


def _read(text: str, start: int, end: int) -> StructuredText:
    found = read_json_form(text, start, end)
    if found is not None:
        return found
    within = read_json_within(text, start, end)
    if within is not None and within.field_count > 1:
        return within
    marked = _read_marked(text, start, end)
    return marked if within is None or marked.is_structured else within


def _read_marked(text: str, start: int, end: int) -> StructuredText:
    block = StructuredText(start, end)
    reading = _FieldReader(text, block)
    position = start
    for mark in sorted(_marks(text, start, end), key=lambda mark: (mark.start, -mark.end)):
        if mark.start < position:
            continue  # inside the markup of the mark before
        reading.take(position, mark.start, before=mark.kind)
        reading.turn(mark)
        position = mark.end
    reading.take(position, end, before=REST)
    return block


def _marks(text: str, start: int, end: int) -> Iterator[_FieldMark]:
    for shape in _TAG.finditer(text, start, end):
        named = _NAMED.search(text, shape.start("attributes"), shape.end("attributes"))
        name = TextRange(*named.span(1)) if named and named[1].strip() else None
        yield _FieldMark(_kind(shape, "t_"), shape.start(), shape.end(), bool(shape["close"]), name)
    yield from (_FieldMark(OPTION, shape.start(), shape.end()) for shape in _HEADED.finditer(text, start, end))
    for shape in _LABEL.finditer(text, start, end):
        kind = _kind(shape, "l_")
        word = next(name for name in NAMES if shape[f"l_{name}"])
        if kind == OPTION:  # `Option A: wait`: the name is the whole line
            kind_start = shape.start(f"l_{word}")
            yield _FieldMark(OPTION, shape.start(), kind_start)
        else:
            yield _FieldMark(kind, shape.start(), shape.end())

    if text[start:end].lstrip(" \t\r\n`json").startswith("{"):
        for shape in _KEY.finditer(text, start, end):
            yield _FieldMark(OPTION if shape["k_name"] else _kind(shape, "k_"), shape.start(), shape.end())


def _kind(shape: re.Match[str], prefix: str) -> str:
    return next(name for name in NAMES if shape[f"{prefix}{name}"])


class _FieldReader:
    """Assigns ranges of the text to fields and options, in order."""

    def __init__(self, text: str, found: StructuredText) -> None:
        self._text, self._found = text, found
        self._field = REST
        self._in_option = False
        self._bullet: str | None = None  # bullet of the options
        self._in_lines = False  # the options are lines without bullets

    def turn(self, mark: _FieldMark) -> None:
        """Begins or ends a field."""
        if mark.closes:
            self._field = {PRO: OPTION, CON: OPTION, OPTION: OPTIONS}.get(mark.kind, REST)
            self._in_option = mark.kind in (PRO, CON)
            return
        self._field = mark.kind
        if mark.kind in (OPTION, OPTIONS):
            self._in_option = False
        if mark.kind == OPTION and mark.name is not None:
            self._found.options.append(ConsideredOption(mark.name))
            self._in_option = True

    def take(self, start: int, end: int, before: str) -> None:
        """Adds a range to the current field. `before`: the kind of the mark after it."""
        has_arguments = before in (PRO, CON)
        line = _UNDERLINE.match(self._text, start, end)
        start = start if line is None else line.end()
        match self._field:
            case "goal" | "observation" | "decision" | "rest":
                self._keep(getattr(self._found, self._field), start, end)
            case "options":
                self._options(start, end, has_arguments=has_arguments)
            case "option":
                self._option(start, end)
            case _:
                own_end = self._next_option(start, end) if has_arguments else end
                self._arguments(self._field, start, own_end)
                if own_end < end:
                    self._in_option = False
                    self._option(own_end, end)

    def _options(self, start: int, end: int, *, has_arguments: bool) -> None:
        """Adds the rows of a table, or the items of a list of options. Without bullets, each line is one, and each
        string in it, unless arguments for it follow. Items with deeper bullets are about the option above them."""
        table, titles = read_option_table(self._text, start, end)
        if table:
            self._found.options += table
            self._found.rest += titles
            return
        items = list(_items(self._text, start, end))
        if items[-1][0] is None and not self._in_option:
            self._in_lines = True
            items = (
                [(None, start, end)]
                if has_arguments
                else [
                    (None, *piece)
                    for line in _lines(self._text, start, end)
                    for piece in _options_of_line(self._text, *line)
                ]
            )
        signed = any(bullet is not None and bullet[-1] in _FOR for bullet, _, _ in items)
        for bullet, first, last in items:
            self._bullet = self._bullet or bullet
            if self._is_deeper(bullet):
                self._below(bullet, first, last, signed=signed)
                continue
            self._in_option = self._in_option and bullet is None and not self._in_lines
            self._option(first, last)

    def _is_deeper(self, bullet: str | None) -> TypeGuard[str]:
        """Whether an item stands below the last option, by its indentation."""
        return bullet is not None and self._in_option and _indentation(bullet) > _indentation(self._bullet or "")

    def _below(self, bullet: str, start: int, end: int, *, signed: bool) -> None:
        """Adds an item about the last option. `signed`: plus and minus say what is for and against it."""
        option = self._found.options[-1]
        against = option.cons if signed and bullet[-1] in _AGAINST else option.about
        self._keep(option.pros if bullet[-1] in _FOR else against, start, end)

    def _next_option(self, start: int, end: int) -> int:
        """Start of the line that names the next option, in a list without bullets, behind arguments on one line; `end`
        if there is none."""
        lines = list(_lines(self._text, start, end)) if self._in_lines else []
        first_line = self._text[start:end].partition("\n")[0]
        return lines[1][0] if len(lines) > 1 and first_line.strip() else end

    def _option(self, start: int, end: int) -> None:
        """Adds the text of an option: its name, its description, and pros and cons on the same lines."""
        inline = _INLINE.search(self._text, start, end)
        own_end = inline.start() if inline else end
        first, last = _trimmed(self._text, start, own_end)
        if not self._in_option and first < last:
            key = _NAME_KEY.match(self._text, first, last)
            first = first if key is None else key.end()
            name_ends = _NAME_ENDS.search(self._text, first, last)
            cut = name_ends.start() if name_ends else last
            name_first, name_last = _trimmed(self._text, first, cut)
            while name_last > name_first + 1 and self._text[name_last - 1] in f" :{_DASHES}":
                name_last -= 1
            first, self._in_option = (name_ends.end() if name_ends else last), True
            if self._text[name_first:name_last].strip(_EMPHASIS):
                name_first, name_last = _without_emphasis(self._text, name_first, name_last)
            while first < last and self._text[first] in _EMPHASIS:
                first += 1
            self._found.options.append(ConsideredOption(TextRange(name_first, name_last)))
        self._keep(self._found.options[-1].about if self._found.options else self._found.rest, first, last)
        if inline:
            self._inline(inline, end)

    def _inline(self, first: re.Match[str], end: int) -> None:
        shapes = list(_INLINE.finditer(self._text, first.start(), end))
        ends = [shape.start() for shape in shapes[1:]] + [end]
        for shape, until in zip(shapes, ends, strict=True):
            self._arguments(PRO if shape["kind"][0] in "pPaA" else CON, shape.end(), until)

    def _arguments(self, kind: str, start: int, end: int) -> None:
        """Adds pros or cons to the last option. An item with the bullet of the options begins the next option."""
        inline = bool(self._text[start:end].partition("\n")[0].strip())
        deeper = False
        for bullet, first, last in _items(self._text, start, end):
            if bullet is not None and bullet == self._bullet and (inline or deeper or bullet[-1] in "1a"):
                self._in_option = False
                self._option(first, last)
                continue
            deeper = deeper or self._is_deeper(bullet)
            option = self._found.options[-1] if self._found.options else None
            pieces = self._found.rest if option is None else option.pros if kind == PRO else option.cons
            for piece in [(first, last)] if bullet is not None else _split(self._text, first, last):
                self._keep(pieces, *piece)

    def _keep(self, pieces: list[TextRange], start: int, end: int) -> None:
        first, last = _trimmed(self._text, start, end)
        if first < last:
            pieces.append(TextRange(first, last))


def _items(text: str, start: int, end: int) -> Iterator[tuple[str | None, int, int]]:
    """Yields bullet and range of each item. Without bullets (None), splits the text at `;` or between JSON strings."""
    bullets = list(_BULLET.finditer(text, start, end))
    if bullets:
        yield None, start, bullets[0].start()
        ends = [bullet.start() for bullet in bullets[1:]] + [end]
        for bullet, until in zip(bullets, ends, strict=True):
            sign = bullet["sign"].strip("().")
            yield bullet["indent"] + ("1" if sign.isdecimal() else "a" if sign.isalpha() else sign), bullet.end(), until
        return
    yield from ((None, *piece) for piece in _split(text, start, end))


def _indentation(bullet: str) -> int:
    return len(bullet) - len(bullet.lstrip())


def _split(
    text: str, start: int, end: int, between_items: re.Pattern[str] = _BETWEEN_ITEMS
) -> Iterator[tuple[int, int]]:
    """Splits a range at `;`, and between JSON strings."""
    position = start
    for between in between_items.finditer(text[start:end]):
        yield position, start + between.start()
        position = start + between.end()
    yield position, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the range of each line that is not blank."""
    ends = [start - 1, *(start + place for place, character in enumerate(text[start:end]) if character == "\n"), end]
    for before, after in pairwise(ends):
        if text[before + 1 : after].strip():
            yield before + 1, after


def _options_of_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges of the options in a line: between JSON strings, and at `;` unless that divides arguments."""
    has_arguments = _INLINE.search(text, start, end) is not None
    return _split(text, start, end, _BETWEEN_STRINGS if has_arguments else _BETWEEN_ITEMS)


def _without_emphasis(text: str, start: int, end: int) -> tuple[int, int]:
    """Shortens a range by the marks of bold or code around it."""
    while text[start] in _EMPHASIS:
        start += 1
    while text[end - 1] in _EMPHASIS:
        end -= 1
    return start, end


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Shortens a range by the white space around it and, if it is a JSON string, by the quotes and brackets."""
    while start < end and text[start] in " \t\r\n":
        start += 1
    while end > start and text[end - 1] in " \t\r\n":
        end -= 1
    first, last = start, end
    while first < last and text[first] in '"[{ ,':
        first += 1
    while last > first and text[last - 1] in '"[]{}, \n\t`':
        last -= 1
    return (first, last) if '"' in text[start:first] or not text[first:last] else (start, end)
