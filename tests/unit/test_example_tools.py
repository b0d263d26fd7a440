"""The tools of examples/tools.py: nothing outside of their root, and nothing written without approval."""

import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.testing import RunRecorder
from tests.support.programs.examples import load_example

tools: Any = load_example("tools")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "shop").mkdir(parents=True)
    (root / "shop" / "prices.py").write_text("total = 1\ntotal * discount\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("the discount is secret")
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "new.txt").symlink_to(outside / "new.txt")
    (root / "inner.py").symlink_to(root / "shop" / "prices.py")
    return root


@pytest.fixture
def workspace(root: Path, playhead_recorder: RunRecorder) -> Any:
    return tools.Workspace(root)


OUTSIDE = ["../outside/secret.txt", "shop/../../outside/secret.txt", "link.txt", "folder/secret.txt", "new.txt"]


@pytest.mark.parametrize("path", [*OUTSIDE, "{root}/../outside/secret.txt", "/etc/hostname"])
def test_no_path_leads_out_of_the_root(
    path: str, workspace: Any, root: Path, tmp_path: Path, playhead_recorder: RunRecorder
):
    playhead_recorder.approve()
    path = path.format(root=root)
    with pytest.raises(PermissionError, match="outside of the root"):
        workspace.read_file(path)
    with pytest.raises(PermissionError, match="outside of the root"):
        workspace.write_file(path, "changed")
    outside = tmp_path / "outside"
    assert [file.read_text() for file in outside.iterdir()] == ["the discount is secret"]


def test_files_below_the_root_are_read_by_their_path_and_by_links_that_stay_inside(workspace: Any, root: Path):
    assert workspace.read_file("shop/prices.py").startswith("total = 1")
    assert workspace.read_file("inner.py") == workspace.read_file(str(root / "shop" / "prices.py"))


def test_a_long_file_is_shortened_and_what_is_no_file_is_refused(workspace: Any, root: Path):
    (root / "long.txt").write_text("x" * (tools.MAX_CHARACTERS + 7))
    assert workspace.read_file("long.txt").endswith("x\n... 7 characters more")
    os.mkfifo(root / "pipe")  # reading it would wait for a writer
    for path in ("shop", "pipe", "absent"):
        with pytest.raises(FileNotFoundError, match=f"no file {path}"):
            workspace.read_file(path)


def test_a_search_stays_inside_whatever_links_there_are(workspace: Any, root: Path):
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("discount")
    (root / "large.txt").write_bytes(b"discount" + bytes(tools.MAX_FILE_BYTES))
    assert workspace.search("discount") == ["shop/prices.py:2: total * discount"]
    (root / "many.txt").write_text("discount\n" * 500)
    assert len(workspace.search("discount")) == tools.MAX_MATCHES


WRITES: dict[str, Callable[[Any], str]] = {
    "write_file": lambda workspace: workspace.write_file("shop/new.py", "x = 1\n"),
    "bash": lambda workspace: workspace.bash("echo 'x = 1' > shop/new.py"),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_writes_is_done_only_after_approval(name: str, workspace: Any, root: Path, playhead_recorder: RunRecorder):
    playhead_recorder.deny(name, reason="not now", times=1)
    with pytest.raises(playhead.Denied, match="not now"):
        WRITES[name](workspace)
    assert not (root / "shop" / "new.py").exists()
    playhead_recorder.approve(name)
    WRITES[name](workspace)
    assert (root / "shop" / "new.py").read_text() == "x = 1\n"
    assert [promise["name"] for promise in playhead_recorder.promises] == [name, name]


def test_writing_makes_folders_and_replaces_files_only(workspace: Any, root: Path, playhead_recorder: RunRecorder):
    playhead_recorder.approve()
    assert workspace.write_file("a/b/c.txt", "äx") == "wrote 2 characters to a/b/c.txt"
    workspace.write_file("a/b/c.txt", "other")
    assert (root / "a/b/c.txt").read_text() == "other"
    with pytest.raises(FileExistsError, match="a is not a file"):
        workspace.write_file("a", "x")


def test_a_command_begins_in_the_root_with_no_key_of_the_agent(
    workspace: Any, root: Path, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    playhead_recorder.approve()
    assert workspace.bash("pwd; env; exit 3").startswith(f"exit code 3\n{root}\n")
    assert "sk-secret" not in workspace.bash("env")
    assert workspace.bash("echo wrong >&2") == "exit code 0\nwrong\n"


def test_a_command_that_prints_without_end_is_cut_off(workspace: Any, playhead_recorder: RunRecorder):
    playhead_recorder.approve()
    said = workspace.bash("yes")
    assert len(said) < tools.MAX_CHARACTERS + 100
    assert "y\ny\n" in said


def test_a_command_that_takes_too_long_is_stopped_with_all_that_it_started(
    workspace: Any, root: Path, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    playhead_recorder.approve()
    child = root / "child"
    seconds = 1
    while not (child.exists() and child.read_text()):  # a busy machine may take longer to begin with the command
        seconds *= 2
        monkeypatch.setattr(tools, "BASH_SECONDS", seconds)
        assert workspace.bash("sleep 300 & echo $! > child; wait") == f"stopped after {seconds} seconds\n"
    assert ends(int(child.read_text()))


def ends(process: int) -> bool:
    """Whether the process has ended, or does within a minute: a busy machine needs a moment for it."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 60)[0])
    finally:
        os.close(descriptor)
