"""Commands that the program starts, recorded as tools where that was asked for: real commands, recorded and resumed."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.capture import registry
from playhead.errors import InDoubt, ReplayDiverged, ReplayError
from playhead.model import names
from tests.support.journal_reader import Recording, start_recording


class CutOff(Exception):
    """Ends a run before it has completed."""


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture(autouse=True)
def instrumented() -> Iterator[None]:
    playhead.instrument("subprocess")
    yield
    playhead.uninstrument("subprocess")


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


def command(effects: Path, code: int = 0) -> list[str]:
    """Writes a line into the file, says "out", and ends with the code."""
    return ["sh", "-c", f"echo x >> {effects}; printf out; exit {code}"]


def record(agent: Callable[[], Any]) -> tuple[str, Any]:
    said: list[Any] = []
    with contextlib.suppress(CutOff), playhead.run("agent") as run:
        said.append(agent())
        raise CutOff
    assert run.id is not None
    return run.id, said[0]


def again(run_id: str, agent: Callable[[], Any], **how: Any) -> Any:
    with playhead.resume(run_id, **how), playhead.run("agent"):
        return agent()


FUNCTIONS: dict[str, Callable[[Path], Any]] = {
    "run": lambda to: subprocess.run(command(to), capture_output=True, check=False),
    "run, text": lambda to: subprocess.run(args=command(to), stdout=subprocess.PIPE, text=True, check=False),
    "run, shell": lambda to: subprocess.run(command(to)[2], shell=True, cwd=to.parent, check=False),
    "run, input": lambda to: subprocess.run(command(to), input=b"in", capture_output=True, check=True),
    "call": lambda to: subprocess.call(command(to, 3), stdout=subprocess.DEVNULL),
    "check_call": lambda to: subprocess.check_call(command(to), stdout=subprocess.DEVNULL),
    "check_output": lambda to: subprocess.check_output(command(to)),
    "getoutput": lambda to: subprocess.getoutput(command(to)[2]),
    "getstatusoutput": lambda to: subprocess.getstatusoutput(command(to)[2]),
}


def shown(result: Any) -> Any:
    return vars(result) if isinstance(result, subprocess.CompletedProcess) else result


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_is_one_tool_call_and_is_not_started_again(recording: Recording, effects: Path, name: str) -> None:
    run_id, first = record(lambda: FUNCTIONS[name](effects))
    tools = [span for span in recording.read().spans if span.attributes[names.KIND] == "tool"]
    assert [span.attributes[names.TOOL_NAME] for span in tools] == [f"subprocess.{name.partition(',')[0]}"]
    assert tools[0].attributes[names.TOOL_TYPE] == "command"
    second = again(run_id, lambda: FUNCTIONS[name](effects))
    assert (type(second), shown(second)) == (type(first), shown(first))
    assert effects.read_text() == "x\n"


def test_errors_of_commands_are_given_again(effects: Path) -> None:
    def agent() -> tuple[Any, ...]:
        try:
            subprocess.run(command(effects, 3), capture_output=True, check=True)
        except subprocess.CalledProcessError as error:
            return error.returncode, error.output, error.cmd
        return ()

    run_id, first = record(agent)
    assert first == (3, b"out", command(effects, 3))
    assert again(run_id, agent) == first
    assert effects.read_text() == "x\n"


def test_a_command_that_cannot_be_started_fails_again_as_it_did() -> None:
    def agent() -> str:
        with pytest.raises(FileNotFoundError) as raised:
            subprocess.run(["/no/such/command"], check=False)
        return str(raised.value)

    run_id, first = record(agent)
    assert again(run_id, agent) == first


def with_popen(effects: Path) -> Any:
    with subprocess.Popen(command(effects), stdout=subprocess.PIPE) as process:
        return process.communicate()


def with_asyncio(effects: Path) -> Any:
    async def started() -> Any:
        process = await asyncio.create_subprocess_exec(*command(effects), stdout=subprocess.PIPE)
        return await process.communicate()

    return asyncio.run(started())


@pytest.mark.parametrize("start", [with_popen, with_asyncio])
def test_a_process_cannot_be_given_back_and_is_not_started_again_unasked(effects: Path, start: Any) -> None:
    run_id, first = record(lambda: start(effects))
    assert first == (b"out", None)
    with pytest.raises(InDoubt, match=r"subprocess\.Popen"):
        again(run_id, lambda: start(effects))
    assert effects.read_text() == "x\n"
    with pytest.raises(ReplayDiverged, match="cannot be given an outcome"):
        again(run_id, lambda: start(effects), outcomes={"subprocess.Popen": 5})
    assert again(run_id, lambda: start(effects), in_doubt="rerun") == first
    assert effects.read_text() == "x\nx\n"


def test_a_command_inside_of_a_tool_is_a_part_of_it(recording: Recording, effects: Path) -> None:
    @observe(kind="tool")
    def shell() -> Any:
        return subprocess.check_output(command(effects))

    record(shell)
    tools = [span for span in recording.read().spans if span.attributes[names.KIND] == "tool"]
    assert [span.attributes[names.TOOL_NAME] for span in tools] == ["shell"]


def test_a_command_outside_of_runs_is_none_of_ours(recording: Recording, effects: Path) -> None:
    async def main() -> bytes:
        return subprocess.check_output(command(effects))

    assert asyncio.run(main()) == b"out"
    assert recording.read().spans == []


def test_another_command_is_a_divergence(effects: Path) -> None:
    run_id, _ = record(lambda: subprocess.check_output(command(effects)))
    with pytest.raises(ReplayDiverged, match="command"):
        again(run_id, lambda: subprocess.check_output(command(effects, 7)))
    assert effects.read_text() == "x\n"


def test_the_environment_of_a_command_is_not_recorded(recording: Recording, effects: Path) -> None:
    record(lambda: subprocess.run(command(effects), env={"PATH": "/bin:/usr/bin", "TOKEN": "hunter2"}, check=False))
    assert "hunter2" not in repr(recording.read().contents)


def test_a_process_that_does_not_record_commands_is_refused_such_a_run(effects: Path) -> None:
    run_id, _ = record(lambda: subprocess.check_output(command(effects)))
    playhead.uninstrument("subprocess")
    with pytest.raises(ReplayError, match="PLAYHEAD_RECORD_COMMANDS=true"):
        again(run_id, lambda: subprocess.check_output(command(effects)))
    assert effects.read_text() == "x\n"


@pytest.mark.parametrize(("setting", "is_on"), [({}, False), ({"PLAYHEAD_RECORD_COMMANDS": "true"}, True)])
def test_commands_are_recorded_only_where_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, setting: dict[str, str], is_on: bool
) -> None:
    playhead.uninstrument("subprocess")
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(registry, "LIBRARIES", {})
    assert playhead.instrument() == (("subprocess",) if is_on else ())


def test_uninstrumented_it_is_as_it_was() -> None:
    playhead.uninstrument("subprocess")
    for function in (subprocess.run, subprocess.call, subprocess.Popen.__init__):
        assert not hasattr(function, "__wrapped__")
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
