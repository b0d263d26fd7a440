"""The type of an answer: its JSON schema, and reading it."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from playhead.agent.signatures import problems_of
from playhead.errors import OutputInvalid
from playhead.model.json_value import Json

Out = TypeVar("Out")
# Providers take schemas of objects only: another type becomes a property of one.
_WRAPPED = "result"


@dataclass(frozen=True, slots=True)
class OutputType(Generic[Out]):
    """What an answer has to be. `schema`: as it is sent to the model."""

    adapter: TypeAdapter[Out]
    schema: Json
    is_wrapped: bool

    def read(self, text: str) -> Out:
        """Returns the answer as this type. The JSON may stand in a block of Markdown, or between other text. Raises
        OutputInvalid, with a message for the model."""
        try:
            value = _json_in(text)
        except ValueError as error:
            raise OutputInvalid(f"the answer is no JSON ({error}): answer with one JSON value") from error
        if self.is_wrapped and isinstance(value, dict) and _WRAPPED in value:
            value = cast("dict[str, Any]", value)[_WRAPPED]
        try:
            return self.adapter.validate_json(to_json(value))
        except ValidationError as error:
            raise OutputInvalid(
                f"the answer does not have the form that was asked for:\n{problems_of(error)}"
            ) from error


def output_type(given: Any) -> OutputType[Any] | None:
    """Returns the type of an answer; None for `str` and None: any text."""
    if given is None or given is str:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(given)
    schema = adapter.json_schema()
    if schema.get("type") == "object":
        return OutputType(adapter, schema, is_wrapped=False)
    definitions = schema.pop("$defs", None)
    wrapped: Json = {"type": "object", "properties": {_WRAPPED: schema}, "required": [_WRAPPED]}
    if definitions is not None:
        wrapped["$defs"] = definitions
    return OutputType(adapter, wrapped, is_wrapped=True)


def _json_in(text: str) -> Any:
    """Returns the value of the whole text, or of what stands from its first opening to its last closing bracket. Raises
    ValueError. (pydantic's parser: others round numbers of many digits.)"""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        opened = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
        closed = max(text.rfind("}"), text.rfind("]"))
        return from_json(text[opened : closed + 1], allow_inf_nan=False)
