"""[import]: our own exports, OTLP files, and exports of other tools, into a collector."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import typer

from playhead.archive.documents import Format
from playhead.archive.records import OtlpRecord, UnreadableRecord
from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.moving.continuing import ImportPosition
from playhead.cli.moving.progress import ShowProgress, progress
from playhead.cli.moving.sources import (
    ExportedScore,
    Item,
    Sources,
    StoredContent,
    StoredThread,
    existing,
    total_bytes,
)
from playhead.cli.moving.uploading import MAX_BYTES, MAX_RECORDS, Uploader, threads_size
from playhead.settings import sdk as settings

_SHOWN = 20
_KEPT = 1_000


@dataclass(slots=True)
class _RefusedItems:
    """Items that were not imported: their number, and the first ones, to be shown."""

    count: int = 0
    first: list[UnreadableRecord] = field(default_factory=list[UnreadableRecord])

    def add(self, record: UnreadableRecord) -> None:
        self.count += 1
        if len(self.first) < _KEPT:
            self.first.append(record)


def import_into(
    address: CollectorAddress, paths: Sequence[Path], form: Format | None, most: int, *, restart: bool, json: bool
) -> bool:
    """Imports these files, and prints what was read. Returns False if something was left out.

    `most`: maximum size of a record in bytes. `restart`: starts from the beginning, also after an interrupted import.
    """
    client = address.ask_collector()
    in_force = settings.load(endpoint=client.base_url, api_key=address.api_key)
    refused = _RefusedItems()
    scratch = Path(tempfile.mkdtemp(prefix="playhead-import-"))
    try:
        sources = Sources(form, most, scratch, total_bytes(existing(paths)))
        uploader = Uploader(in_force, refused.add, client)
        position = ImportPosition(in_force.journal_dir, in_force.collector, paths, uploader.epoch(), restart=restart)
        try:
            with progress() as show:
                _send(sources.items(paths), uploader, position, refused, lambda: show_bytes(show, sources))
        except BaseException:
            position.write()
            raise
        finally:
            uploader.close()
        position.finished()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _say(sources, uploader, position, refused, json=json)
    return not refused.count


def show_bytes(show: ShowProgress, sources: Sources) -> None:
    """Shows how much of the files was read."""
    show("bytes", sources.read_bytes, max(sources.total_bytes, sources.read_bytes))


def _send(
    items: Iterable[Item], uploader: Uploader, position: ImportPosition, refused: _RefusedItems, show: Any
) -> None:
    for batch in _batches(items, position.skip, refused):
        first = batch[0]
        if isinstance(first, OtlpRecord):
            uploader.records(batch)
        elif isinstance(first, StoredContent):
            uploader.contents(batch)
        elif isinstance(first, ExportedScore):
            uploader.scores(batch)
        else:
            uploader.threads(batch)
        position.advance(len(batch))
        show()


def _batches(items: Iterable[Item], skip: int, refused: _RefusedItems) -> Iterator[list[Any]]:
    """Yields lists of items that can be sent together. Leaves out the first `skip` items."""
    batch: list[Any] = []
    size = 0
    for item in items:
        if isinstance(item, UnreadableRecord):
            refused.add(item)
            continue
        if skip:
            skip -= 1
            continue
        if batch and (size >= MAX_BYTES or len(batch) >= MAX_RECORDS or not _go_together(batch[0], item)):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += _size(item)
    if batch:
        yield batch


def _go_together(first: Item, second: Item) -> bool:
    if isinstance(first, OtlpRecord) and isinstance(second, OtlpRecord):
        return (first.signal, first.form) == (second.signal, second.form)
    return type(first) is type(second)


def _size(item: Item) -> int:
    if isinstance(item, OtlpRecord):
        return item.size
    return threads_size(item.thread) if isinstance(item, StoredThread) else 0


def _say(sources: Sources, uploader: Uploader, position: ImportPosition, refused: _RefusedItems, *, json: bool) -> None:
    done = uploader.done
    facts: dict[str, Any] = {**asdict(done), "runs": len(done.runs), "refused": refused.count}
    if json:
        left_out = [{"where": str(record.where), "why": record.why} for record in refused.first]
        output.as_json(
            {**facts, "continued_after": position.continued_after, "formats": sources.formats, "left_out": left_out}
        )
        return
    output.facts(
        {
            "read": ", ".join(sorted(set(sources.formats.values()))) or "nothing",
            "continued after": f"{position.continued_after:,} records" if position.continued_after else None,
            "runs": f"{len(done.runs):,}",
            "spans": f"{done.spans:,}{_known(done.duplicates)}",
            "log records": f"{done.logs:,}" if done.logs else None,
            "scores": f"{done.scores:,}" if done.scores else None,
            "contents": f"{done.contents:,}, {done.content_bytes:,} bytes",
            "new contents": f"{done.new_contents:,}, {done.new_bytes:,} bytes",
            "left out": f"{refused.count:,}" if refused.count else None,
        }
    )
    for record in refused.first[:_SHOWN]:
        output.echo(f"{record.where}: {record.why}", err=True)
    if refused.count > _SHOWN:
        typer.echo(f"and {refused.count - _SHOWN:,} more: --json lists them", err=True)


def _known(duplicates: int) -> str:
    """Returns a note on items that were stored before. "At least": the collector does not recognise all of them, since
    it stores sealed runs in another form."""
    return f" (at least {duplicates:,} of them stored before)" if duplicates else ""
