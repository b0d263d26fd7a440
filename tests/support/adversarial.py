"""Texts that cost more to read than to write: what somebody sends to hold up whoever looks at a run."""

import json
from collections.abc import Callable, Mapping

SIZE = 1_000_000


def _json_in_json(size: int) -> str:
    """A text in JSON in a text in JSON, ...: each level doubles the backslashes."""
    text = '{"order": 7}'
    while len(text) < size:
        text = json.dumps({"result": text, "more": [text[:50]]})
    return text[:size] if len(text) < 2 * size else text[: 2 * size]


def _filled(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


_HTML = _filled('<a href="x?a=1&b=2">\\"it\'s\\"</a>\n')
TEXTS: Mapping[str, Callable[[int], str]] = {
    "JSON in JSON": _json_in_json,
    "nested lists": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "truncated JSON of HTML": lambda size: json.dumps({"html": _HTML(size)})[:size],
    "quotes": _filled("A'"),
    "backslashes": _filled('\\"'),
    "digits": _filled("1234567890"),
    "numbers": _filled("1,234.56 "),
    "dates": _filled("2026-01-31T12:00:00 31/12/2025 "),
    "capitals": _filled("ORDER NUMBER A-B-C "),
}
