"""`playhead storage`: amounts of stored data."""

from collections.abc import Iterator

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import Json
from playhead.wire.operations.storage import Amount, Storage, StorageSizes


def storage(ctx: typer.Context, json: Json = False) -> None:
    """Say how much is stored, by kind, and the inline bytes that it stands for; ~ marks estimates."""
    with ctx.ensure_object(CollectorAddress).ask_collector() as client:
        answer = client.storage()
    if json:
        output.as_json(answer)
        return
    output.facts(_summary(answer))
    output.table(("kind", "rows", "bytes", "indexes"), _kinds(answer["project"]))


def _summary(answer: Storage) -> dict[str, object]:
    project, database = answer["project"], answer["database"]
    inline = project["inline_bytes"]
    return {
        "contents": _shown(project["contents"]),
        "their size": _size(project["content_bytes"]),
        "inline": f"{_size(inline)} (from {project['sampled_runs']} runs)",
        "stored": f"{_size(project['bytes'])}, indexes {_size(project['index_bytes'])}",
        "whole database": f"{_size(database['bytes'])}, indexes {_size(database['index_bytes'])}",
    }


def _kinds(sizes: StorageSizes) -> Iterator[tuple[str, ...]]:
    for kind, amounts in sizes["kinds"].items():
        yield kind.replace("_", " "), _shown(amounts["rows"]), _size(amounts["bytes"]), _size(amounts["index_bytes"])


def _shown(number: Amount) -> str:
    return "unknown" if number["value"] is None else f"{'' if number['exact'] else '~'}{number['value']:,}"


def _size(number: Amount) -> str:
    if number["value"] is None:
        return "unknown"
    text = "" if number["exact"] else "~"
    text += output.size(number["value"])
    if number["low"] is not None and number["high"] is not None:
        text += f" ({output.size(number['low'])} to {output.size(number['high'])})"
    return text
