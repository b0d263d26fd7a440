"""What was projected of the journal's runs is kept beside its index, for as long as nothing is added to them."""

import sqlite3
from pathlib import Path

import pytest

from playhead.journal.index import database
from playhead.journal.index.pruning import prune
from playhead.local.client import JournalClient
from playhead.local.projections import code_stamp
from playhead_collector.store.records import projecting
from tests.integration.read.recorded import conversation
from tests.support.readers.journaled import frames_of, write_journal

RUN, OTHER = "01" * 16, "02" * 16


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    write_journal(tmp_path, [conversation(RUN, 2).batch(), conversation(OTHER, 1).batch()])
    return tmp_path


@pytest.fixture
def projected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were projected, in order."""
    seen: list[str] = []
    project = projecting.UncachedProjector.project

    def noted(self: projecting.UncachedProjector, run: str, *rest: object):
        seen.append(run)
        return project(self, run, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(projecting.UncachedProjector, "project", noted)
    return seen


def events(journal: Path, run: str = RUN) -> list[object]:
    with JournalClient(journal, lambda _: None) as client:
        return list(client.events(run, preview=50))


def test_a_run_is_projected_once_and_alone(journal: Path, projected: list[str]):
    first = events(journal)
    assert projected == [RUN]
    assert events(journal) == first
    assert projected == [RUN]


def test_a_run_with_news_is_projected_again(journal: Path, projected: list[str]):
    before = events(journal)
    write_journal(journal, [conversation(RUN, 4).batch()])
    assert len(events(journal)) > len(before)
    assert projected == [RUN, RUN]


def test_other_code_projects_again(journal: Path, projected: list[str], monkeypatch: pytest.MonkeyPatch):
    first = events(journal)
    code_stamp.cache_clear()
    monkeypatch.setattr("playhead.local.projections._CODE", ("model",))
    assert events(journal) == first
    assert projected == [RUN, RUN]
    code_stamp.cache_clear()


def test_what_is_kept_goes_with_its_segment(journal: Path):
    secret = b"invoke_agent"
    events(journal)
    for path in journal.glob("*/*.segment"):
        path.unlink()
    with JournalClient(journal, lambda _: None) as client:
        assert list(client.runs()) == []
    assert secret not in database.path_of(journal).read_bytes()


def test_runs_are_listed_without_projecting_them_again(journal: Path, projected: list[str]):
    with JournalClient(journal, lambda _: None) as client:
        first = list(client.runs())
    assert sorted(projected) == [RUN, OTHER]
    with JournalClient(journal, lambda _: None) as client:
        assert list(client.runs()) == first
    assert sorted(projected) == [RUN, OTHER]
    assert len(frames_of(conversation(RUN, 2).batch())) > 10


def test_retention_takes_what_was_kept_out_of_the_index(journal: Path):
    first = events(journal)
    assert first
    for path in journal.glob("*/*.segment"):
        path.unlink()
    prune(journal)
    with sqlite3.connect(database.path_of(journal)) as db:
        for table in ("record", "content", "thread", "projection", "block"):
            assert db.execute(f"select count(*) from {table}").fetchone() == (0,), table
    assert b"invoke_agent" not in database.path_of(journal).read_bytes()


def test_pruning_a_damaged_index_or_none_does_nothing(journal: Path):
    prune(journal)
    assert not database.path_of(journal).exists()
    events(journal)
    database.path_of(journal).write_text("no database")
    prune(journal)
