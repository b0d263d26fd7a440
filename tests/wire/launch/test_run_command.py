"""`playhead run -- COMMAND`: the program runs as it always does, and its calls are recorded."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from playhead.launch.command import SITE, environment, run
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import Journaled, read_journal

server = pytest_plugin.mock_model_server
HERE = Path(__file__).parent
ASK = """
import openai
answer = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
print(answer.choices[0].message.content)
"""
IN_A_CHILD = """
import multiprocessing, runpy
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=runpy.run_path, args=("ask.py",))
    child.start(); child.join()
    raise SystemExit(child.exitcode)
"""
QUITS = "import sys; print(sys.stdin.read(), sys.argv[1:]); sys.exit(7)"
# Instrumentors of others take seconds to load: those of one library are enough.
OTHERS = {entry.name for entry in entry_points(group="opentelemetry_instrumentor")} - {"playhead-openai", "openai"}
OPENTELEMETRY_OFF = {f"OTEL_{of}_EXPORTER": "none" for of in ("TRACES", "METRICS", "LOGS")}
OPENTELEMETRY_OFF["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = ",".join(OTHERS)
WAITS = "import signal, sys; print('ready', flush=True); signal.pause()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ask.py").write_text(ASK)
    (tmp_path / "child.py").write_text(IN_A_CHILD)
    (tmp_path / "quits.py").write_text(QUITS)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__main__.py").write_text(ASK)
    return tmp_path


def environ(folder: Path, server: MockModelServer | None = None, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))}
    kept |= {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none",
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "OPENAI_BASE_URL": server.base_url if server else "http://127.0.0.1:9",
    }  # fmt: skip
    return kept | more


def playhead_run(
    folder: Path, command: Sequence[str], server: MockModelServer | None = None, stdin: str = "", **more: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "playhead", "run", *command],
        env=environ(folder, server, **more), cwd=folder, input=stdin, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def recorded(folder: Path) -> Journaled:
    return read_journal(folder / "journal")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [["ask.py"], ["-m", "pkg"], ["-c", ASK], ["-"], ["child.py"]],
    ids=["script", "-m", "-c", "standard input", "child process"],
)
def test_calls_of_the_program_are_recorded(server: MockModelServer, folder: Path, command: list[str]):
    server.otherwise(text("fine"))
    stdin = ASK if command == ["-"] else ""
    done = playhead_run(folder, ["--", sys.executable, *command], server, stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    [span] = recorded(folder).spans
    assert span.attributes[names.KIND] == "llm"


def test_standard_input_arguments_and_the_exit_code_are_the_programs_own(folder: Path):
    done = playhead_run(folder, [sys.executable, "quits.py", "--url", "-x", "--", "a b"], stdin="said")
    assert (done.returncode, done.stdout) == (7, "said ['--url', '-x', '--', 'a b']\n")
    assert not (folder / "journal").exists()


def test_signals_reach_the_program_which_has_the_commands_process(folder: Path):
    command = [sys.executable, "-m", "playhead", "run", "--", sys.executable, "-c", WAITS]
    process = subprocess.Popen(command, env=environ(folder), stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == -signal.SIGTERM
        finally:
            process.kill()


@pytest.mark.parametrize("broken", ["raise RuntimeError('broken')", "raise SystemExit(3)", "import no_such_module"])
def test_a_broken_playhead_does_nothing_to_the_program(folder: Path, broken: str):
    """Of this name, but broken, as seen by the program; a child says nothing of it."""
    instead = folder / "instead" / "playhead"
    instead.mkdir(parents=True)
    (instead / "__init__.py").write_text(broken)
    env = environment(environ(folder, PYTHONPATH=str(instead.parent)))
    done = subprocess.run(
        [sys.executable, "quits.py"], env=env, cwd=folder, input="said", capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (7, "said []\n", "")


def test_the_program_that_cannot_be_recorded_is_told_so_once(folder: Path):
    """As with the Python of another environment: it is the process of the command, which its children are not."""
    code = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', '0']); print(os.getpid())"
    env = environ(folder)
    env["PYTHONPATH"] = str(HERE.parents[2] / "src")
    command = [sys.executable, "-m", "playhead", "run", "--", "/usr/bin/env", "-u", "NONE", sys.executable, "-S", "-c"]
    done = subprocess.run([*command, code], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, ""), "with -S there is no `sitecustomize`, and nothing to tell"


def test_a_sitecustomize_of_the_users_own_runs_as_ever(folder: Path):
    own = folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins; builtins.mark = __file__")
    code = "import sys, sitecustomize; print(mark == sitecustomize.__file__, any('launch' in f for f in sys.path))"
    paths = os.pathsep.join([str(own), *filter(None, sys.path)])
    done = playhead_run(folder, [sys.executable, "-c", code], PYTHONPATH=paths)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True False\n", "")


def test_a_program_that_asks_no_model_leaves_no_trace(folder: Path):
    done = playhead_run(folder, [sys.executable, "-c", "import sys; print('openai' in sys.modules)"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert not (folder / "journal").exists()


def test_the_path_of_modules_is_prepared_once(folder: Path):
    once = environment({"PYTHONPATH": "a"})
    assert once["PYTHONPATH"] == os.pathsep.join([str(SITE), "a"])
    assert environment(once) == once
    assert environment({})["PYTHONPATH"] == str(SITE)


def test_it_needs_none_of_the_command_lines_libraries(folder: Path):
    """As installed without extras: only what `playhead run` itself imports is there."""
    code = (
        "import sys; sys.modules['typer'] = sys.modules['rich'] = None; "
        f"sys.argv = ['playhead', 'run', '--', {sys.executable!r}, 'quits.py']; "
        "from playhead.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ(folder), cwd=folder, input="", capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (7, " []\n", "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name the program to start: playhead run -- python app.py"),
        (["--"], 2, "name the program"),
        (["--verbose", "python"], 2, "unknown option --verbose"),
        (["no-such-program"], 127, "cannot find no-such-program: it is in no folder of PATH; check the name"),
        (["./no-such-file"], 127, "there is no such file"),
        (["app.py"], 126, "start it with Python: playhead run -- python app.py"),
        (["./data"], 126, "chmod +x"),
    ],
)
def test_what_cannot_be_started_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], code: int, said: str,
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("")
    (tmp_path / "data").write_text("")
    assert run(arguments) == code
    assert said in capsys.readouterr().err


def test_help_is_help(capsys: pytest.CaptureFixture[str]):
    assert run(["--help"]) == 0
    assert "playhead run -- python app.py" in capsys.readouterr().out


@pytest.mark.slow
def test_doctor_says_at_the_programs_end_what_was_instrumented_in_it(server: MockModelServer, folder: Path):
    server.otherwise(text("fine"))
    command = [sys.executable, "-m", "playhead", "doctor", "--", sys.executable]
    twice = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, "ask.py"]
    for program, libraries in (
        ([*command, "ask.py"], ["openai 3", "playhead"]),
        ([*command[:-1], *twice], [": playhead, opentelemetry", "seen twice, counted once: by playhead"]),
        ([*command, "quits.py"], ["no library that Playhead records was imported"]),
    ):
        done = subprocess.run(
            program, env=environ(folder, server, **OPENTELEMETRY_OFF), cwd=folder, input="", capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == (7 if "quits.py" in program else 0), done.stderr
        assert "playhead doctor: process" in done.stderr
        for line in libraries:
            assert line in done.stderr
