"""[export]: `playhead export --local`, sessions of the journal as JSON Lines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.errors import NotFound, SettingInvalid
from playhead.local.session_files import write_sessions


def export_sessions(
    address: CollectorAddress, folder: Path, runs: Sequence[str], where: Mapping[str, Any], *, json: bool
) -> None:
    """Writes the given runs, or those that meet the conditions (without conditions: all). Prints what was written."""
    if folder.exists() and not folder.is_dir():
        raise SettingInvalid(f"{folder} is no folder: name one with --output")
    with address.ask_journal() as client:
        named = [run_id(cast(Any, client), run) for run in runs]
        chosen = named or [run["run"] for run in client.runs(**where)]
        if not chosen:
            raise NotFound("no run of the journal meets these conditions: `playhead runs --local` lists them")
        try:
            written = write_sessions(client.source, folder, chosen)
        except OSError as error:
            raise SettingInvalid(f"{folder} cannot be written ({error.strerror}): name another --output") from error
    if json:
        output.as_json({"output": str(folder), **asdict(written)})
    else:
        output.facts({"written to": folder, **{name: f"{count:,}" for name, count in asdict(written).items()}})
