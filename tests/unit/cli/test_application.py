"""The table of commands: each is there, and is imported only when it is called."""

import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from playhead.cli import app
from playhead.cli.application import COMMANDS, Commands

_LOADED = "print(' '.join(sorted(name for name in sys.modules if name.startswith('playhead.cli.'))))"


def group() -> Commands:
    made = get_command(app)
    assert isinstance(made, Commands)
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_has_its_name_and_a_help(name: str):
    command = group().commands[name]
    assert (command.name, bool(command.get_short_help_str())) == (name, True)


def test_a_command_that_is_not_in_the_table_cannot_be_added():
    commands = group()
    with pytest.raises(TypeError, match="has to be listed in COMMANDS"):
        commands.add_command(commands.commands["runs"], "other")
    with pytest.raises(TypeError, match="has to be removed from COMMANDS"):
        del commands.commands["runs"]
    assert len(commands.commands) == len(COMMANDS)


def test_the_help_of_a_command_imports_no_other_command():
    code = f"import sys; from playhead.cli import app; app(['events', '--help'], standalone_mode=False); {_LOADED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "List what happened in a run" in done.stdout
    loaded = {name.removeprefix("playhead.cli.") for name in done.stdout.splitlines()[-1].split()}
    assert loaded == {"application", "connection", "options", "output", "read"}


def test_the_help_of_all_commands_imports_no_http_library_and_nothing_that_records_or_replays():
    code = "import sys; from playhead.cli import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    late = {
        "httpx",
        "opentelemetry.sdk",
        "playhead.recording",
        "playhead.replaying.lifecycle",
        "playhead.capture.registry",
    }
    assert (late & loaded, "playhead.cli.doctor" in loaded) == (set(), True)


def test_a_misspelt_command_gets_a_suggestion():
    done = CliRunner().invoke(app, ["eventz"])
    assert (done.exit_code, "Did you mean 'events'?" in done.stderr) == (2, True)
