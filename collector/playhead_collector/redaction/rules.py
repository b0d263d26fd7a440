"""The redaction rules of a project, as they are set, stored and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from playhead.model.canonical import canonical_json, parse_json
from playhead_collector.redaction.patterns import BadPattern, SafePattern
from playhead_collector.redaction.presets import PRESETS

MOST_KEYS: Final = 200
MOST_PATTERNS: Final = 50
HOOK: Final = "hook"
"""The name in what a hook that failed has masked."""
UNREADABLE: Final = "unreadable"
"""The name in what is masked since the rules could not be run on it: it is nested too deeply, or takes too long."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_KEY_NAME: Final = re.compile(r"[^a-z0-9_-]+")


class BadRules(ValueError):
    """Raised for rules that cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRules:
    """What is masked in the data of a project.

    `keys`: names of members and attributes whose values are masked, `*` stands for any characters. `patterns`: named
    regular expressions. `presets`: names of built-in patterns. `hook`: whether the operator's function is called.
    """

    keys: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    presets: tuple[str, ...] = ()
    hook: bool = False

    def __bool__(self) -> bool:
        return bool(self.keys or self.patterns or self.presets or self.hook)

    def text(self) -> str:
        """Returns the rules as JSON text, as they are stored."""
        return canonical_json(
            {"keys": self.keys, "patterns": dict(self.patterns), "presets": self.presets, "hook": self.hook}
        ).decode()

    @classmethod
    def read(cls, text: str | None) -> "RedactionRules | None":
        """Reads stored rules. None: there are none."""
        if text is None:
            return None
        value: Any = parse_json(text)
        rules = cls(
            keys=tuple(value["keys"]),
            patterns=tuple(value["patterns"].items()),
            presets=tuple(value["presets"]),
            hook=value["hook"],
        )
        return rules or None


def checked(keys: Sequence[str], patterns: Mapping[str, str], presets: Sequence[str], *, hook: bool) -> RedactionRules:
    """Returns rules that can be used. Raises BadRules."""
    if len(keys) > MOST_KEYS or len(patterns) > MOST_PATTERNS:
        raise BadRules(f"there are at most {MOST_KEYS} keys and {MOST_PATTERNS} patterns: leave some out")
    for key in keys:
        if not key.strip("* ") or len(key) > 100:
            raise BadRules(f"key {key[:100]!r} has no letter, or more than 100: name a member or an attribute")
    for name, pattern in patterns.items():
        if not _NAME.fullmatch(name) or name in PRESETS or name in (HOOK, UNREADABLE):
            raise BadRules(
                f"{name[:50]!r} is no name for a pattern: take up to 40 lower-case letters, digits, - and _, and none "
                f"of {', '.join((*PRESETS, HOOK, UNREADABLE))}"
            )
        try:
            SafePattern(pattern)
        except BadPattern as error:
            raise BadRules(str(error)) from None
    for preset in presets:
        if preset not in PRESETS:
            raise BadRules(f"there is no preset {preset[:50]!r}: take some of {', '.join(PRESETS)}")
    return RedactionRules(
        keys=tuple(dict.fromkeys(key.lower() for key in keys)),
        patterns=tuple(patterns.items()),
        presets=tuple(dict.fromkeys(presets)),
        hook=hook,
    )


def name_of_key(key: str) -> str:
    """Returns what stands in a mask for the rule of this key."""
    return _KEY_NAME.sub("-", key.lower()).strip("-")[:40] or "key"
