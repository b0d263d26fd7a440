"""Makes commands of declared operations: parameters in the path are arguments, the others are options.

Help, bounds and completion of runs come from the declaration. A command that asks several operations, or whose
answer depends on its options, is written by hand.
"""

import inspect
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, complete_run
from playhead.cli.options import Json, Limit, first_rows, parse_time_option
from playhead.wire.operations.operation import NOTHING, DeclaredOperation, Form, OperationParameter

Show = Callable[[Any], None]
_TIME_AGO = "or how long ago: 90s, 1h, 2d."


def derived_command(
    operation: DeclaredOperation, show: Show = output.as_json, *, limit: int = 20
) -> Callable[..., None]:
    """Returns the command of an operation with one answer, or with a list of items.

    `show` prints the answer, or the list of items, if `--json` is not given. `limit`: how many items by default.
    """

    def command(**given: Any) -> None:
        ctx: typer.Context = given.pop("ctx")
        as_json, most = given.pop("json"), given.get("limit", limit)
        arguments = arguments_of(operation, given)
        with ctx.ensure_object(CollectorAddress).ask() as client:
            method = getattr(client, operation.name)
            if operation.facts.form is Form.PAGE:
                answer: Any = first_rows(ctx, operation.name, method(**{**arguments, "limit": most + 1}), most)
            else:
                answer = method(**arguments)
        (output.as_json if as_json else show)(answer)

    parameters = [_keyword_only("ctx", typer.Context), *command_parameters(operation, limit=limit)]
    parameters.append(_keyword_only("json", Json, default=False))
    command.__signature__ = inspect.Signature(parameters, return_annotation=None)
    # Typer reads both.
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    command.__name__ = operation.name
    command.__doc__ = _plain(operation.description)
    return command


def command_parameters(operation: DeclaredOperation, *, limit: int = 20) -> list[inspect.Parameter]:
    """Returns the parameters of an operation for Typer, named as on the wire. `limit`: how many items of a list by
    default."""
    return [_command_parameter(operation, parameter, limit) for parameter in operation.parameters]


def arguments_of(operation: DeclaredOperation, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments for the client's method: times ago become times, and options not given are left out.
    Raises SettingInvalid for what is no time."""
    arguments: dict[str, Any] = {}
    for parameter in operation.parameters:
        value = given.get(parameter.wire_name)
        if value is None:
            continue
        arguments[parameter.name] = parse_time_option(value) if parameter.bounds.is_time else value
    return arguments


def _command_parameter(operation: DeclaredOperation, parameter: OperationParameter, limit: int) -> inspect.Parameter:
    if operation.facts.form is Form.PAGE and parameter.name == "limit":
        return _keyword_only("limit", Limit, default=limit)
    bounds, name = parameter.bounds, parameter.wire_name
    text = _plain(bounds.help or bounds.description) or ""
    shown: dict[str, Any] = {"help": f"{text.removesuffix('.')}; {_TIME_AGO}" if bounds.is_time else text}
    if bounds.names_run:
        shown["autocompletion"] = complete_run
    if parameter.place == "path":
        argument = typer.Argument(show_default=False, **shown)
        return _keyword_only(name, Annotated[_option_type(parameter.wire), argument])
    if bounds.ge is not None:
        shown["min"] = bounds.ge
    if bounds.le is not None:
        shown["max"] = bounds.le
    default = None if parameter.default == () else parameter.default
    option = typer.Option(show_default=default is not None, **shown)
    return _keyword_only(name, Annotated[_option_type(parameter.wire), option], default=default)


def _option_type(wire: object) -> Any:
    """Returns the type of an option: of several types, the first one that is not None, since a shell has texts only."""
    members: Sequence[Any] = get_args(wire) if get_origin(wire) in (Union, UnionType) else [wire]
    first = next(member for member in members if member is not NoneType)
    if get_origin(first) is list and get_origin(get_args(first)[0]) is Literal:  # Typer has no lists of choices
        first = list[str]
    return first | None if NoneType in members else first


def _plain(text: str | None) -> str | None:
    """Returns a text without the marks of Markdown around names."""
    return None if text is None else text.replace("`", "")


def _keyword_only(name: str, annotation: object, default: object = NOTHING) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
