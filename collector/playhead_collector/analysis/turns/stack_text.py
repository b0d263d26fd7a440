"""[analysis]: the text of a stack → its lines and the exceptions behind it.  Pure.

Read are the forms of Python, of JavaScript engines, and of Java and languages like it.  Of a text in another form
nothing is known but the text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from playhead.wire.operations.verdict import RaisedError, SourceLine

MAX_FRAMES = 200
_MAX_TEXT = 64 * 1024
_MAX_MESSAGE = 2_000


@dataclass(slots=True)
class ParsedStack:
    """The stack of the exception that came out: `frames` outermost first, `causes` innermost first.  `at`: the
    innermost line of the program's own code."""

    frames: list[SourceLine] = field(default_factory=list[SourceLine])
    causes: list[RaisedError] = field(default_factory=list[RaisedError])

    @property
    def at(self) -> SourceLine | None:
        """The innermost line of the program's own code; None if there is none."""
        return own_line(self.frames)


@dataclass(slots=True)
class _Exception:
    """An exception of a text, with the lines of its stack, outermost first."""

    type: str
    message: str
    frames: list[SourceLine]

    def raised(self) -> RaisedError:
        return {"type": self.type, "message": self.message[:_MAX_MESSAGE], "at": own_line(self.frames)}


def parse_stack(text: str | None) -> ParsedStack:
    """Parses the text of a stack. Of a long text only the last 64 kB are read."""
    if not text:
        return ParsedStack()
    lines = text[-_MAX_TEXT:].splitlines()
    chain = _python(lines) if any(map(_PYTHON_FRAME.match, lines)) else _at_lines(lines)
    if not chain:
        return ParsedStack()
    came_out = chain[-1]
    return ParsedStack(came_out.frames[-MAX_FRAMES:], [each.raised() for each in chain[:-1]])


def own_line(frames: Sequence[SourceLine]) -> SourceLine | None:
    """The innermost line of the program's own code; None if there is none."""
    return next((frame for frame in reversed(frames) if not frame["library"]), None)


# --- Python ----------------------------------------------------------------------------------------------------------

_PYTHON_FRAME = re.compile(
    r'[ |]{2,40}File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}))?$'
)
_HEADER = re.compile(r"[ |+]{0,40}(?:Exception Group )?Traceback \(most recent call last\):$")
_LINK = re.compile(
    r"(?:The above exception was the direct cause of the following exception:"
    r"|During handling of the above exception, another exception occurred:)$"
)
_NAMED = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,300})(?:: (?P<message>.*))?$")
_GROUP = re.compile(r"[ |]{0,40}\+-[-+ ]{1,60}(?:\d{1,9} )?-{0,60}$")
_IN_GROUP = re.compile(r"^[ ]{0,40}\|[ |]{0,40}(?=\S)")
_IN_THREAD = re.compile(r'^Exception in thread "[^"]{0,200}" ')


def _python(lines: Sequence[str]) -> list[_Exception]:
    """The exceptions of a Python traceback, the one that came out last.  Of a group, those in it come before it."""
    is_group = any("Exception Group Traceback" in line for line in lines)
    plain = [_GROUP.sub("", line) if is_group else line for line in lines]
    if is_group:
        plain = [_IN_GROUP.sub(_indent_in_group, line) for line in plain]
    parts = _split(plain, lambda line: _HEADER.match(line) is not None or _LINK.match(line.strip()) is not None)
    found = [each for part in parts if (each := _python_exception(part)) is not None]
    return [*found[1:], found[0]] if is_group and found else found


def _indent_in_group(match: re.Match[str]) -> str:
    """The indentation of a line within a group, without that of the group: `  |   File` is indented by two."""
    return " " * max(0, len(match[0].rpartition("|")[2]) - 1)


def _python_exception(lines: Sequence[str]) -> _Exception | None:
    frames: list[SourceLine] = []
    for number, line in enumerate(lines):
        if (match := _PYTHON_FRAME.match(line)) is not None:
            after = lines[number + 1] if number + 1 < len(lines) else ""
            is_code = after.startswith("    ") and _PYTHON_FRAME.match(after) is None and after.strip("~^ ") != ""
            file, function = match["file"], match["function"]
            frames.append(
                {
                    "file": file,
                    "line": int(match["line"]),
                    "function": function,
                    "code": after.strip() if is_code else None,
                    "library": _PYTHON_LIBRARY.search(file) is not None,
                }
            )
        elif not line.startswith((" ", "\t")) and (named := _NAMED.match(line)) is not None:
            message = "\n".join([named["message"] or "", *lines[number + 1 :]]).strip()
            return _Exception(named["type"], message, frames)
    return None


_PYTHON_LIBRARY = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|[/\\]Lib[/\\]|[/\\]src[/\\]playhead[/\\]"
    r"|^<frozen |^<string>"
)


# --- JavaScript, Java and others with lines that begin with "at" -----------------------------------------------------

_AT = re.compile(r"\s{1,40}at (?P<rest>\S.{0,2000})$")
_CAUSED = re.compile(r"\s{0,40}(?:Caused by: |\[cause\]: |\[errors\]: )(?P<rest>.{1,2000})$")
_JAVA_PLACE = re.compile(
    r"(?P<function>[\w.$/<>@~-]{1,500})\((?P<file>[^():]{1,300})(?::(?P<line>\d{1,9}))?\)(?: ~?\[.{1,200}\])?$"
)
_JAVA_LIBRARY = re.compile(
    r"(?:[\w.@]{1,60}/)?(?:java|javax|jdk|sun|com\.sun|jakarta|kotlin|kotlinx|scala|clojure|groovy|reactor|io\.netty|"
    r"io\.opentelemetry|org\.springframework|org\.apache|org\.junit|okhttp3|retrofit2)\."
)
_JS_LIBRARY = re.compile(r"[/\\]node_modules[/\\]|^node:|^internal[/\\]|^ext:|^native$|^<anonymous>")


def _at_lines(lines: Sequence[str]) -> list[_Exception]:
    """The exceptions of a text whose frames are lines like `    at name (file:1:2)`, the one that came out last."""
    chain: list[_Exception] = []
    for part in _split(lines, lambda line: _CAUSED.match(line) is not None, keep=True):
        frames: list[SourceLine] = []
        head: list[str] = []
        for line in part:
            if (at := _AT.match(line)) is not None:
                frame = _at_frame(at["rest"])
                frames += [] if frame is None else [frame]
            elif not frames:
                head.append(line)
        if frames:
            chain.append(_with_head(head, frames[::-1]))
    return chain[::-1]


def _with_head(head: Sequence[str], frames: list[SourceLine]) -> _Exception:
    first = head[0] if head else ""
    caused = _CAUSED.match(first)
    text = "\n".join([caused["rest"] if caused else _IN_THREAD.sub("", first), *head[1:]])
    named = _NAMED.match(text.partition("\n")[0].removeprefix("Uncaught ").strip())
    if named is None:
        return _Exception("", text.strip(), frames)
    rest = text.partition("\n")[2]
    return _Exception(named["type"], "\n".join(filter(None, [named["message"] or "", rest])).strip(), frames)


def _at_frame(text: str) -> SourceLine | None:
    rest = text.strip().removeprefix("async ")
    if (java := _JAVA_PLACE.match(rest)) is not None and not java["file"].startswith(("/", "file:")):
        function = java["function"]
        return _frame(java["file"], java["line"], function, _JAVA_LIBRARY.match(function) is not None)
    return _js_frame(rest)


def _js_frame(place: str) -> SourceLine | None:
    """`load (/app/main.js:10:3)`, or the file alone."""
    named, _, column = place.removesuffix(")").rpartition(":")
    where, _, line = named.rpartition(":")
    function, _, file = where.rpartition(" (")
    file = file.removeprefix("file://")
    if not file or file != file.strip() or not _is_number(line) or not _is_number(column):
        return None
    return _frame(file, line, function or None, _JS_LIBRARY.search(file) is not None)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _frame(file: str, line: str | None, function: str | None, library: bool) -> SourceLine:
    number = None if line is None else int(line)
    return {"file": file, "line": number, "function": function, "code": None, "library": library}


def _split(lines: Sequence[str], is_border: Callable[[str], bool], *, keep: bool = False) -> list[list[str]]:
    """Splits lines at the borders. `keep`: a border is the first line of what follows it."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if is_border(line):
            parts.append([line] if keep else [])
        else:
            parts[-1].append(line)
    return parts
