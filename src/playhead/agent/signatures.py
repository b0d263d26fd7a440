"""A function's parameters as a JSON schema, and the check of what a model gave for them."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict

from playhead.errors import ToolArgumentsInvalid
from playhead.model.json_value import Json

# `name: text`, `name (type): text` and `:param type name: text` in a docstring.
_SECTION = re.compile(r"(?:Args|Arguments|Parameters):$")
_LINE = re.compile(r"(\w{1,100})(?: ?\([^()\n]{0,200}\))?: ?(.*)")
_SPHINX = re.compile(r":param (?:[\w.\[\], |]{1,100} )?(\w{1,100}): ?(.*)")
_MAX_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """The parameters of a tool that its caller fills in. `context`: the parameter that gets the `AgentContext`, or
    None. `description`: the docstring without what it says of parameters."""

    description: str
    schema: Json
    context: str | None
    arguments: TypeAdapter[Any]

    def read(self, arguments: object) -> dict[str, Any]:
        """Returns a model's arguments as the function takes them, by name. Raises ToolArgumentsInvalid, with a message
        for the model."""
        if not isinstance(arguments, Mapping):
            raise ToolArgumentsInvalid(f"the arguments are no JSON object but {_shown(arguments)}: give an object")
        try:
            return self.arguments.validate_json(to_json(arguments))  # strict types take what JSON can say
        except ValidationError as error:
            raise ToolArgumentsInvalid(problems_of(error)) from error


class FilledIn:
    """Base of the class whose objects the agent gives to a tool (`AgentContext`)."""


def signature_of(function: Callable[..., Any], *, is_method: bool = False) -> ToolSignature:
    """Reads a function. A parameter whose type is `FilledIn` is no business of the model. `is_method`: the first
    parameter is the object. Raises TypeError for parameters that a model cannot fill in."""
    docstring = inspect.getdoc(function) or ""
    described = _descriptions(docstring)
    hints = get_type_hints(function, include_extras=True)
    parameters = [*inspect.signature(function).parameters.values()][is_method:]
    fields: dict[str, Any] = {}
    context: str | None = None
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{_name_of(function)}: a tool has no {parameter}: a model gives arguments by name")
        hint = hints.get(parameter.name, Any)
        if _is_filled_in(hint):
            context = parameter.name
        else:
            fields[parameter.name] = _field(hint, parameter, described.get(parameter.name))
    # A TypedDict, since a model class has attributes of its own that parameters could shadow.
    arguments: TypeAdapter[Any] = TypeAdapter(TypedDict(_name_of(function), fields))  # pyright: ignore[reportArgumentType]
    schema = arguments.json_schema()
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return ToolSignature(_without_parameters(docstring), schema, context, arguments)


def _is_filled_in(hint: Any) -> bool:
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, FilledIn)


def _field(hint: Any, parameter: inspect.Parameter, description: str | None) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return Annotated[hint, Field(description=description)]
    extra: Any = {"default": parameter.default} if isinstance(parameter.default, str | int | float | bool) else None
    return NotRequired[Annotated[hint, Field(description=description, json_schema_extra=extra)]]


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def problems_of(error: ValidationError) -> str:
    """Returns what is wrong, one line for each value: where, what, and what was given."""
    problems = error.errors(include_url=False, include_context=False)
    lines = [
        f"{'.'.join(map(str, problem['loc'])) or 'value'}: {problem['msg']} (given: {_shown(problem['input'])})"
        for problem in problems[:_MAX_PROBLEMS]
    ]
    return "\n".join(lines)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


# --- docstrings -------------------------------------------------------------------------------------------------------


def _descriptions(docstring: str) -> dict[str, str]:
    """Returns what a docstring says of each parameter: in a section `Args:`, or by `:param name:`."""
    found: dict[str, str] = {}
    in_section = False
    last: str | None = None
    for line in docstring.splitlines():
        text = line.strip()
        if (param := _SPHINX.match(text)) is not None:
            found[param[1]] = param[2]
        elif _SECTION.match(text):
            in_section, last = True, None
        elif in_section and text and not line[0].isspace():
            in_section = False
        elif in_section and (described := _LINE.match(text)) is not None:
            last = str(described[1])
            found[last] = described[2]
        elif in_section and text and last is not None:
            found[last] += f" {text}"
    return found


def _without_parameters(docstring: str) -> str:
    kept: list[str] = []
    in_section = False
    for line in docstring.splitlines():
        text = line.strip()
        if _SECTION.match(text):
            in_section = True
        elif in_section and text and not line[0].isspace():
            in_section = False
        if not in_section and _SPHINX.match(text) is None:
            kept.append(line)
    return "\n".join(kept).strip()
