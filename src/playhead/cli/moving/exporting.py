"""[export]: runs as OTLP JSON lines, and their contents as files, for another collector or other tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.moving.export_files import export_to
from playhead.cli.moving.progress import progress
from playhead.cli.moving.ref_queue import RefQueue
from playhead.cli.moving.taken import Taking, with_relatives
from playhead.errors import NotFound, SettingInvalid
from playhead.model.canonical import Content
from playhead.wire.export_layout import Manifest
from playhead.wire.operations import RunSummary


def export_runs(
    address: CollectorAddress,
    output_path: Path,
    runs: Sequence[str],
    where: Mapping[str, Any],
    *,
    parents: bool,
    forks: bool,
    json: bool,
) -> None:
    """Exports the given runs or, without any, those that meet the conditions `where`. Prints what was written."""
    with (
        address.ask_collector() as client,
        export_to(output_path) as files,
        RefQueue() as queue,
        progress() as show,
    ):
        named = (client.run(run_id(client, run)) for run in runs) if runs else client.runs(**where)
        taking = Taking(client, files, queue, show)
        _take(taking, with_relatives(client, named, parents=parents, forks=forks))
        counts = asdict(taking.counts)
        manifest = Manifest(_version(), datetime.now(UTC).isoformat(timespec="seconds"), **counts, files=files.files())
        files.manifest(manifest)
    if json:
        output.as_json({"output": str(output_path), **counts})
        return
    absent = {"refs of which nothing is stored": counts.pop("missing"), "unreadable contents": counts.pop("unreadable")}
    written = {name.replace("_", " "): f"{count:,}" for name, count in counts.items()}
    output.facts({"written to": output_path, **written} | {name: count or None for name, count in absent.items()})


def export_test(address: CollectorAddress, run: str, output_path: Path | None, *, force: bool = False) -> None:
    """Writes the run's test to the file, or to the terminal. Raises SettingInvalid if the file exists (unless `force`
    is set) or cannot be written."""
    if output_path is not None and output_path.exists() and not force:
        raise SettingInvalid(f"{output_path} exists: name another --output, or write over it with --force")
    with address.ask() as client:
        text = client.test_of(run_id(client, run))
    if output_path is None:
        output.content(Content(text.encode(), "text/x-python"))
        return
    try:
        output_path.parent.mkdir(parents=True, exist_ok=True)
        output_path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingInvalid(f"{output_path} cannot be written ({error.strerror}): name another --output") from error
    output.facts({"written to": output_path})


def _take(taking: Taking, runs: Iterable[RunSummary]) -> None:
    for run in runs:
        taking.run(run)
    if not taking.counts.runs:
        raise NotFound("no run meets these conditions: `playhead runs` lists them")
    taking.contents()


def _version() -> str:
    try:
        return version("playhead")
    except PackageNotFoundError:
        return "0"
