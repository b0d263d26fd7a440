"""[analysis]: recognises results that report an error although the tool returned. Pure.

Checks the structure first (fields of a JSON object, exit codes, a traceback at the end), then how the text begins.
"""

import json
import re
from typing import Any, cast

_MAX_LENGTH = 300
# A longer JSON object is a document: its outermost fields are not searched for an error.
_MAX_OBJECT_LENGTH = 64 * 1024
_WORDS = frozenset({"error", "failed", "failure"})
_EXIT = re.compile(
    r"(?:\b|_)(?:exit[ _]?code|exit[ _]?status|return[ _]?code)\"?[ \t]{0,2}(?:[:=][ \t]{0,2}|was |is )?(-?\d{1,9})\b",
    re.IGNORECASE,
)
_TRACEBACK = re.compile(r"^[ \t]{0,8}+Traceback \(most recent call last\)", re.MULTILINE)
# Lines that may follow the last traceback. With more, the text is a log that the tool only read.
_AFTER_TRACEBACK = 2
_BEGINS = re.compile(
    r"\s{0,64}+[\"']?(?:traceback\b|fatal: |"
    r"(?!(?:failed|failures?|errors?)[:= ]{1,3}0\b)(?:\w{0,64}error|\w{0,64}exception|failed|failure)"
    r"(?:[ \t]{0,2}[:(!\[.\"']|\s{0,8}\Z| \d| (?:occurred|while|during|when|in|on|at|to|from|code|with|executing|"
    r"running|calling|parsing|reading|writing|fetching|loading|connecting|processing|invoking)\b))"
    r"|\s{0,64}+an error occurred\b|\s{0,64}+(?:the )?(?:tool|command|call|request|operation)(?: call)? failed\b"
    r"|[^\n]{0,200}: (?:no such file or directory|command not found|permission denied|not a directory)\s{0,8}\Z",
    re.IGNORECASE,
)
_CUT_OBJECT = re.compile(r'\s{0,64}+\{[^{}]{0,200}"(?:error|exception)" ?: ?(?!null|false|"")')


def failure_text(text: str) -> str | None:
    """The beginning of a text that reports a failure; None for any other."""
    return text.strip()[:_MAX_LENGTH] if _tells(text) else None


def _tells(text: str) -> bool:
    if text.lstrip()[:1] == "{" and (fields := _object(text)) is not None:
        return _is_failure_fields(fields)
    # The middle of a command's output may mention any exit code; its own is at the beginning or the end.
    codes = {int(code) for end in (text[:_MAX_LENGTH], text[-_MAX_LENGTH:]) for code in _EXIT.findall(end)}
    if codes - {0} or _BEGINS.match(text) is not None or _CUT_OBJECT.match(text) is not None:
        return True
    return not codes and _ends_in_traceback(text)


def _ends_in_traceback(text: str) -> bool:
    """Whether the text ends with its last traceback; a log that contains one continues after it."""
    last = None
    for last in _TRACEBACK.finditer(text):  # noqa: B007 - the last one
        pass
    if last is None:
        return False
    following = [line for line in text[last.end() :].splitlines() if line.strip() and not line[0].isspace()]
    return len(following) <= 1 + _AFTER_TRACEBACK


def _object(text: str) -> dict[str, Any] | None:
    if len(text) > _MAX_OBJECT_LENGTH:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _is_failure_fields(fields: dict[str, Any]) -> bool:
    named = {key.lower().replace("_", ""): value for key, value in fields.items()}
    if any(named.get(key) for key in ("error", "exception", "iserror")):
        return True
    if any(named.get(key) is False for key in ("ok", "success")):
        return True
    if str(named.get("status", "")).lower() in _WORDS:
        return True
    codes = (named.get(key) for key in ("exitcode", "returncode", "exitstatus"))
    return any(isinstance(code, int) and not isinstance(code, bool) and code != 0 for code in codes)
