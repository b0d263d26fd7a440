"""`playhead forget --local`: what only the forgotten had is gone from the files; all else is read as before."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from playhead.cli.journal_erasure import erase_from_journal
from playhead.journal.erasing import filler, shortened
from playhead.journal.frame import END, HEADER_BYTES, THREAD, frames_in, read_end, read_thread, thread_frame
from playhead.journal.lane import lanes
from playhead.local.client import JournalClient
from playhead.model.ref import ContentRef
from playhead.wire.operations.runs import RecordedEvent

PROGRAM = """
import sys
import playhead

playhead.configure(endpoint=None)

@playhead.observe(kind="tool")
def look_up(question):
    return {"answer": "of " + question, "shared": "both had this answer " * 20}

for user, session in [("u1", "s1"), ("u2", "s2")]:
    with playhead.run("support of " + user, user=user, session=session) as run:
        look_up("the secret of " + user + " " * 1200)
        print(run.id)
conversation = playhead.conversation("s1", scope="acme")
conversation.append("user", "a message of u1")
conversation.save()
"""


@pytest.fixture
def journal(tmp_path: Path) -> tuple[Path, list[str]]:
    """The journal of a process that has ended, and its runs."""
    folder = tmp_path / "journal"
    env = {
        "PLAYHEAD_JOURNAL_DIR": str(folder),
        "PLAYHEAD_ENDPOINT": "none",
        "PYTHONPATH": ":".join(filter(None, sys.path)),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.split()


def holds(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def events(folder: Path, run: str) -> list[RecordedEvent]:
    with JournalClient(folder, lambda sentence: None) as client:
        return list(client.events(run))


def test_a_user_is_erased_and_another_one_is_read_as_before(journal: tuple[Path, list[str]]):
    folder, (first, second) = journal
    before = events(folder, second)
    sizes = {path: path.stat().st_size for lane in lanes(folder) for path in lane.glob("*.segment")}
    assert holds(folder, "the secret of u1")
    preview = erase_from_journal(folder, "user", "u1", dry_run=True)
    assert holds(folder, "the secret of u1")
    assert erase_from_journal(folder, "user", "u1") == preview
    assert (preview["runs"], preview["not_delivered"]) == (1, [])
    assert preview["contents"] > 0
    for text in ("the secret of u1", "support of u1", '"u1"', first):
        assert not holds(folder, text), text
    assert holds(folder, "both had this answer")
    assert {path: path.stat().st_size for path in sizes} == sizes
    assert events(folder, second) == before
    assert len(before) > 3
    with JournalClient(folder, lambda sentence: None) as client:
        assert [row["run"] for row in client.runs()] == [second]
    assert not any(client.source.records.damaged.values())
    assert erase_from_journal(folder, "user", "u1")["runs"] == 0


def test_a_session_takes_its_conversation_along(journal: tuple[Path, list[str]]):
    folder, (first, _) = journal
    assert holds(folder, "a message of u1")
    erased = erase_from_journal(folder, "session", "s1")
    assert (erased["runs"], erased["conversations"]) == (1, 1)
    assert not holds(folder, "a message of u1")
    assert not holds(folder, first)


def test_a_scope_and_a_run(journal: tuple[Path, list[str]]):
    folder, (first, second) = journal
    assert erase_from_journal(folder, "scope", "acme")["conversations"] == 1
    assert not holds(folder, first)  # its session is the conversation's
    assert erase_from_journal(folder, "run", second)["runs"] == 1
    assert not holds(folder, second)


def test_what_is_not_delivered_stays_and_is_named(journal: tuple[Path, list[str]]):
    folder, _ = journal
    [lane] = lanes(folder)
    (lane / "no-collector").unlink()
    erased = erase_from_journal(folder, "user", "u1")
    assert (erased["runs"], erased["not_delivered"]) == (0, [str(lane)])
    assert holds(folder, "the secret of u1")


def test_of_a_thread_the_beginning_that_others_have_stays():
    messages = [ContentRef.of(f"{n}".encode()) for n in range(4)]
    payload = thread_frame(None, messages)[HEADER_BYTES:]
    for kept in (1, 2, 3):
        frames = shortened(payload, kept)
        assert len(frames) == len(payload) + HEADER_BYTES
        (kind, thread, _), (other, _, end) = frames_in(frames)
        assert (kind, other, end) == (THREAD, END, len(frames))
        assert list(read_thread(thread).messages) == messages[:kept]


def test_a_filler_is_the_end_of_no_segment():
    [(kind, payload, end)] = frames_in(filler(100))
    assert (kind, len(payload), end) == (END, 100, 109)
    assert read_end(payload) == (-2, 0)
    assert json.loads(payload) == [-2, 0]
    with pytest.raises(ValueError, match="too small"):
        filler(5)
