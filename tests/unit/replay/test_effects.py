"""Commands and files of a program that is answered from a record are named before they repeat."""

import asyncio
import contextlib
import logging
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt

Agent = Callable[[], Any]
STOP: Any = {"unrecorded": "raise"}


class CutOff(Exception):
    """Ends a run before it has completed."""


@observe(kind="tool")
def look(number: int) -> int:
    return number


@observe(kind="tool")
def shell(command: str) -> str:
    return subprocess.check_output(command, shell=True, text=True)


@pytest.fixture(autouse=True)
def warnings_are_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "playhead")


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


def command(effects: Path) -> list[str]:
    return ["sh", "-c", f"echo x >> {effects}"]


def record(agent: Agent, *, completes: bool = False) -> str:
    with contextlib.suppress(CutOff), playhead.run("agent") as run:
        agent()
        if not completes:
            raise CutOff
    assert run.id is not None
    return run.id


def again(run_id: str, agent: Agent, **how: Any) -> Any:
    with playhead.resume(run_id, **how) as resumed, playhead.run("agent"):
        agent()
    return resumed


def popen(effects: Path) -> None:
    with subprocess.Popen(command(effects)) as process:
        process.wait()


def by_asyncio(effects: Path) -> None:
    async def main() -> None:
        process = await asyncio.create_subprocess_exec(*command(effects))
        await process.wait()

    asyncio.run(main())


STARTS: list[Callable[[Path], Any]] = [
    lambda to: subprocess.run(command(to), check=False),
    popen,
    by_asyncio,
    lambda to: os.system(command(to)[2]),
]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("completes", [False, True])
def test_a_command_that_is_started_again_is_named_before_and_stops_the_run_if_that_was_asked_for(
    effects: Path, start: Callable[[Path], Any], completes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def agent() -> None:
        look(1)
        start(effects)
        look(2)

    run_id = record(agent, completes=completes)
    with pytest.raises(InDoubt, match=rf"starts this command again: .*echo x >> {effects}.*unrecorded='rerun'"):
        again(run_id, agent, **STOP)
    assert effects.read_text() == "x\n"
    resumed = again(run_id, agent)
    assert effects.read_text() == "x\nx\n"
    assert f"echo x >> {effects}" in resumed.report.repeated[0]
    assert "started again: " in caplog.text


def test_a_program_that_takes_it_for_an_error_of_the_command_does_not_go_on(effects: Path) -> None:
    def agent() -> None:
        for number in range(3):
            with contextlib.suppress(Exception):
                subprocess.run(command(effects), check=False)
            look(number)

    run_id = record(agent)
    with pytest.raises(InDoubt):
        again(run_id, agent, **STOP)
    assert effects.read_text() == "x\n" * 3


def test_what_a_function_does_that_decides_about_a_call_is_not_the_program_s(tmp_path: Path) -> None:
    def decide(divergence: Any) -> Any:
        (tmp_path / "asked").write_text(str(divergence))
        return {"result": 9}

    run_id = record(lambda: (look(1), look(2)))
    assert again(run_id, lambda: (look(9), look(2)), on_divergence=decide).report.repeated == []
    assert (tmp_path / "asked").exists()


def test_a_command_after_the_record_s_end_is_started(effects: Path) -> None:
    run_id = record(lambda: look(1))
    again(run_id, lambda: (look(1), subprocess.run(command(effects), check=False), look(2)), **STOP)
    assert effects.read_text() == "x\n"


def test_a_command_inside_of_a_recorded_tool_is_the_tool_s(effects: Path) -> None:
    def agent() -> None:
        shell(f"echo x >> {effects}")
        look(1)

    run_id = record(agent)
    assert again(run_id, agent, **STOP).report.repeated == []
    assert effects.read_text() == "x\n"


def test_a_command_in_a_branch_that_runs_live_is_started(effects: Path) -> None:
    def changed() -> None:
        look(9)
        subprocess.run(command(effects), check=False)

    run_id = record(lambda: (look(1), look(2)))
    again(run_id, changed, on_divergence="live", **STOP)
    assert effects.read_text() == "x\n"


def test_in_a_fork_it_is_so_up_to_the_call_at_which_it_parts(effects: Path) -> None:
    def agent() -> None:
        look(1)
        subprocess.run(command(effects), check=False)
        look(2)

    run_id = record(agent)
    with pytest.raises(InDoubt), playhead.fork(run_id, at="look#2", outcome=7, **STOP), playhead.run("agent"):
        agent()
    assert effects.read_text() == "x\n"
    with playhead.fork(run_id, at="look#1", outcome=7, **STOP), playhead.run("agent"):
        agent()
    assert effects.read_text() == "x\nx\n"


CHANGES: dict[str, Callable[[Path], Any]] = {
    "opened for writing": lambda path: path.write_text("x"),
    "removed": lambda path: path.unlink(missing_ok=True),
    "renamed": lambda path: path.rename(path) if path.exists() else None,
    "opened as a database": lambda path: sqlite3.connect(path).close(),
    "given other permissions": lambda path: path.chmod(0o600),
    "given another owner": lambda path: os.chown(path, -1, -1),
    "given other times": os.utime,
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_file_that_is_changed_again_is_named_once(how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "file"
    path.write_text("")

    def agent() -> None:
        look(1)
        for _ in range(3):
            CHANGES[how](path)
        look(2)

    run_id = record(agent)
    path.write_text("")
    resumed = again(run_id, agent)
    assert resumed.report.repeated == [f"{how} again: {path}"]
    assert caplog.messages == [f"{how} again: {path} (no recorded call does this)"]


MADE: dict[str, Callable[[Path], Any]] = {
    "made as a folder": lambda path: path.mkdir(),
    "linked": lambda path: path.symlink_to(path.parent),
    "linked hard": lambda path: path.hardlink_to(path.parent / "other"),
}


@pytest.mark.parametrize("how", MADE)
def test_what_is_made_in_a_folder_again_is_named_unless_it_is_there(how: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    (tmp_path / "other").write_text("")

    def agent() -> None:
        look(1)
        with contextlib.suppress(FileExistsError):
            MADE[how](path)
        look(2)

    run_id = record(agent)
    assert again(run_id, agent).report.repeated == []
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert again(run_id, agent).report.repeated == [f"{how.removesuffix(' hard')} again: {path}"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no attributes of files")
def test_attributes_of_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    def agent() -> None:
        look(1)
        with contextlib.suppress(OSError):  # not every file system has them
            os.setxattr(path, "user.x", b"1")
        with contextlib.suppress(OSError):
            os.removexattr(path, "user.x")
        look(2)

    named = ["given another attribute", "freed of an attribute"]
    assert again(record(agent), agent).report.repeated == [f"{how} again: {path}" for how in named]


def test_folders_of_compiled_modules_are_python_s(tmp_path: Path) -> None:
    def agent() -> None:
        look(1)
        (tmp_path / "__pycache__").mkdir()
        look(2)

    run_id = record(agent)
    (tmp_path / "__pycache__").rmdir()
    assert again(run_id, agent).report.repeated == []


def test_files_that_are_read_or_are_our_own_are_not_named(tmp_path: Path) -> None:
    def agent() -> None:
        look(1)
        (tmp_path / "file").read_bytes()
        Path(os.devnull).write_text("x")
        playhead.annotate(decision="go on")
        look(2)

    (tmp_path / "file").write_text("x")
    assert again(record(agent), agent).report.repeated == []


def test_what_only_says_something_of_the_machine_is_no_effect() -> None:
    """As `platform.platform()` starts it, which clients of models call."""

    def agent() -> None:
        look(1)
        subprocess.run(["uname", "-p"], check=True, stdout=subprocess.DEVNULL)
        look(2)

    assert again(record(agent), agent).report.repeated == []


def test_a_process_that_resumes_nothing_is_not_watched(effects: Path) -> None:
    def agent() -> None:
        look(1)
        subprocess.run(command(effects), check=False)
        look(2)

    again(record(lambda: look(1), completes=True), lambda: look(1))
    record(agent)
    record(agent)
    assert effects.read_text() == "x\nx\n"
