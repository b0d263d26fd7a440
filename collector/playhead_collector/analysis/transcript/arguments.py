"""[analysis]: a tool call whose arguments are traced: its values by path, and their schemas in the tool's definition.

Definitions are read in the forms that providers have them: `{"function": {"name", "parameters"}}`, `{"name",
"parameters"}` and `{"name", "input_schema"}`.  Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import Hit, Passage, Visible
from playhead_collector.analysis.texts.words import is_same_word, name_words, words_in

Json = Any
Scalar = str | int | float | bool | None
# Values that occur in any call.
_EVERYDAY = {"yes", "no", "true", "false", "none", "null", "on", "off", "n/a", "ok", "default"}
_STEP = re.compile(r"\[\d{1,9}+\]|[^.\[\]]{1,200}+")
# Distinctive values of a call that are used: each one makes the comparison of every place slower.
_MAX_TELLING = 64
# White space and quotes around a result that is one value.
_AROUND_A_VALUE = 64
_MAX_SCALARS, _MAX_DEPTH = 5_000, 64
_NEAR = 160
_PROSE_WORDS = 8  # texts with at least so many words are prose
_PROSE = "…"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool's definition, as the model got it. `whole`: the unchanged JSON."""

    name: str
    description: str
    schema: Mapping[str, Any]
    whole: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A tool call as its model requested it, and the context that the model had (`visible`)."""

    name: str
    arguments: Json
    visible: Visible
    definition: ToolDefinition | None = None
    arguments_behind: Callable[[Passage], Json] = lambda _: None
    """Returns the arguments of the call whose result a passage is; None if that call is not known."""
    values: Sequence[tuple[str, Scalar]] = field(init=False)
    distinctive_values: Sequence[tuple[str, str]] = field(init=False)
    """Path and value of texts that are rare enough to identify a place, at most 64."""
    _affinities: dict[tuple[Passage, int, frozenset[str]], int] = field(
        init=False, default_factory=dict[tuple[Passage, int, frozenset[str]], int], repr=False, compare=False
    )

    def __post_init__(self) -> None:
        values = list(scalars(self.arguments))
        telling = [(path, value) for path, value in values if isinstance(value, str) and is_distinctive(value)]
        del telling[_MAX_TELLING:]
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "distinctive_values", telling)

    def schema(self, path: str) -> Mapping[str, Any]:
        """The definition's schema of the value at this path; empty if it has none."""
        return {} if self.definition is None else schema_at(self.definition.schema, path)

    def relatedness(self, hit: Hit, path: str) -> int:
        """Scores how well an occurrence fits the argument (0: not at all): the value is the whole text, is under the
        argument's name, or is near other values of the call."""
        text = hit.passage.text
        longer = len(text) - (hit.end - hit.start)
        alone = longer <= _AROUND_A_VALUE and text.strip().strip('"') == hit.text
        parent = path.rpartition(".")[0]
        beside = {
            value: 5 if parent and other.rpartition(".")[0] == parent else 1
            for other, value in self.distinctive_values
            if other != path and value != hit.text
        }
        weights = (min(weight, _closeness(hit, value)) for value, weight in beside.items())
        return 4 * alone + 2 * _under_name(hit, path) + sum(weights)

    def affinity(self, hit: Hit, path: str) -> int:
        """Number of words of the tool's and the argument's names near an occurrence."""
        names = frozenset(word for word in (*name_words(self.name), *name_words(path)) if len(word) > 3)
        key = (hit.passage, hit.start, names)
        if key not in self._affinities:
            low, high = hit.around(_NEAR)
            near = {word for word, _, _ in words_in(hit.passage.text[low:high])}
            self._affinities[key] = sum(any(is_same_word(name, word) for word in near) for name in names)
        return self._affinities[key]


def scalars(value: Json, path: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yields path (`flights[0].date`) and value of each scalar within a value, at most 5,000."""
    stack: list[tuple[str, Json, int]] = [(path, value, 0)]
    count = 0
    while stack and count < _MAX_SCALARS:
        here, node, depth = stack.pop()
        if isinstance(node, dict) and depth < _MAX_DEPTH:
            items = cast(dict[str, Any], node).items()
            stack += reversed([(f"{here}.{key}" if here else str(key), item, depth + 1) for key, item in items])
        elif isinstance(node, list) and depth < _MAX_DEPTH:
            stack += reversed(
                [(f"{here}[{place}]", item, depth + 1) for place, item in enumerate(cast(list[Any], node))]
            )
        elif not isinstance(node, dict | list):
            count += 1
            yield here, node


def is_distinctive(value: str) -> bool:
    """Whether a text is so rare that an occurrence shows where it is from."""
    bare = value.strip().lower()
    letters = sum(character.isalnum() for character in bare)
    return letters >= 3 and bare not in _EVERYDAY


def is_identifier(value: Scalar) -> bool:
    """Whether a value is a text of 5 characters or more, without spaces, with letters and digits or with 7 digits."""
    if not isinstance(value, str) or len(value) < 5 or " " in value:
        return False
    digits = sum(character.isdigit() for character in value)
    return digits >= 7 or (digits > 0 and any(map(str.isalpha, value)))


def without_prose(value: JsonValue) -> JsonValue:
    """The value with `…` in place of texts of 8 words or more: models never write the same twice."""
    if isinstance(value, str):
        return _PROSE if len(value.split(maxsplit=_PROSE_WORDS)) >= _PROSE_WORDS else value
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if isinstance(value, dict):
        return {name: without_prose(item) for name, item in value.items()}
    return value


def definitions_of(tools: Json) -> dict[str, ToolDefinition]:
    """Definitions by tool name; anything else in the list is ignored."""
    definitions: dict[str, ToolDefinition] = {}
    for tool in cast(list[Any], tools) if isinstance(tools, list) else []:
        whole = cast(dict[str, Any], tool) if isinstance(tool, dict) else {}
        inner = whole.get("function")
        function = cast(dict[str, Any], inner) if isinstance(inner, dict) else whole
        name = function.get("name")
        if isinstance(name, str):
            schemas = [function[key] for key in ("parameters", "input_schema") if isinstance(function.get(key), dict)]
            schema = cast(dict[str, Any], schemas[0]) if schemas else {}
            definitions.setdefault(name, ToolDefinition(name, str(function.get("description") or ""), schema, whole))
    return definitions


def schema_at(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The schema of the value at a path; empty when there is none."""
    here: Any = schema
    for step in _STEP.findall(path):
        properties: Any = here.get("properties") if not step.startswith("[") else None
        here = here.get("items") if step.startswith("[") else properties and properties.get(step)
        if not isinstance(here, dict):
            return {}
        here = cast(dict[str, Any], here)
    return here


def definition_passage(definition: ToolDefinition, ref: Any) -> Passage:
    """The definition as a passage: values may have been copied from it."""
    return Passage(ref, 0, "definition", readable(text_of(dict(definition.whole)), ref))


def _closeness(hit: Hit, value: str) -> int:
    """5 if the value is nearby in the same object, 1 if in another object, 0 if it is not nearby."""
    low, high = hit.around(_NEAR)
    text = hit.passage.text
    after = text.find(value, hit.end, high)
    before = text.rfind(value, low, hit.start)
    between = [text[hit.end : after]] if after >= 0 else []
    between += [text[before : hit.start]] if before >= 0 else []
    return 0 if not between else 5 if any("}" not in gap for gap in between) else 1


def _under_name(hit: Hit, path: str) -> bool:
    """Whether the hit is the value of the argument's own name, in a JSON object or a line like `Name: value`."""
    name = path.rpartition("[")[0] if path.endswith("]") else path
    name = name.rpartition(".")[2]
    before = hit.passage.text[max(0, hit.start - len(name) - 6) : hit.start]
    if before.endswith(('"', "'", "$")):
        before = before[:-1]
    before = before.rstrip()
    if not name or not before.endswith((":", "=")):
        return False
    before = before[:-1].rstrip().removesuffix('"').lower()
    alone = len(before) <= len(name) or not (before[-len(name) - 1].isalnum() or before[-len(name) - 1] == "_")
    return before.endswith(name.lower()) and alone
