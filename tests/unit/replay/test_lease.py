"""The right to go on with a run: what is asked of the collector, and what comes of its answers."""

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import CollectorUnreachable, Conflict, NotFound, RunAlive
from playhead.journal.leases import acquire_lease
from playhead.replaying.lease import KnownRecord, LeaseTerms, RunLeaseHolder, local_lease

RUN = "a" * 32
KNOWN = KnownRecord(attempt=1, begun_here=True, is_whole=False, process="process 5 on web-0")


@dataclass
class FakeCollector:
    """Answers as it is told."""

    raises: Exception | None = None
    attempt: int = 0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    closed: int = 0
    renewed: threading.Event = field(default_factory=threading.Event)

    def _answer(self, what: str, how: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((what, how))
        if self.raises is not None:
            raise self.raises
        return {"attempt": self.attempt}

    def take_lease(self, run: str, **how: Any) -> dict[str, Any]:
        return self._answer("take", how)

    def renew_lease(self, run: str, **how: Any) -> dict[str, Any]:
        self.renewed.set()
        return self._answer("renew", how)

    def release_lease(self, run: str, **how: Any) -> dict[str, Any]:
        return self._answer("release", how)

    def close(self) -> None:
        self.closed += 1

    @property
    def words(self) -> list[str]:
        return [what for what, _ in self.asked]


@pytest.fixture
def collector() -> FakeCollector:
    return FakeCollector()


def lease_in(folder: Path, collector: FakeCollector, *, force: bool = False, seconds: float = 3600.0) -> RunLeaseHolder:
    lease, _ = local_lease(LeaseTerms(folder, lambda: collector, seconds, force), RUN)
    assert lease is not None
    return lease


def test_it_is_taken_renewed_and_given_back(tmp_path: Path, collector: FakeCollector):
    lease = lease_in(tmp_path, collector)
    lease.take(KNOWN, unless_heard=True)
    assert lease.renew()
    lease.release()
    lease.release()
    assert collector.words == ["take", "renew", "release"]
    taken, renewed, released = (how for _, how in collector.asked)
    assert taken["holder"] == renewed["holder"] == released["holder"]
    assert (taken["seconds"], taken["unless_heard"], taken["force"]) == (3600.0, True, False)
    assert collector.closed == 1


def test_a_thread_says_again_that_this_process_is_at_it(tmp_path: Path, collector: FakeCollector):
    before = set(threading.enumerate())
    lease = lease_in(tmp_path, collector, seconds=0.01)
    lease.take(KNOWN, unless_heard=False)
    [renewing] = [thread for thread in set(threading.enumerate()) - before if thread.name == "playhead-lease"]
    assert collector.renewed.wait(60)
    lease.release()
    assert collector.words[-1] == "release"
    renewing.join(60)  # which `release` waits for, though not for ever
    assert not renewing.is_alive()


def test_processes_that_share_a_journal_are_one_holder_and_others_are_not(tmp_path: Path, collector: FakeCollector):
    for folder in ("one", "one", "two"):
        lease = lease_in(tmp_path / folder, collector)
        lease.take(KNOWN, unless_heard=False)
        lease.release()
    first, second, third = (how["holder"] for what, how in collector.asked if what == "take")
    assert first == second != third


def test_the_collector_s_no_is_a_clear_error(tmp_path: Path, collector: FakeCollector):
    collector.raises = Conflict("run a belongs to process 7 on web-1 since 12:00")
    lease = lease_in(tmp_path, collector)
    with pytest.raises(RunAlive, match=r"^run a belongs to process 7 on web-1 since 12:00; end that, or resume with"):
        lease.take(KNOWN, unless_heard=False)
    lease.release()


def test_a_holder_whose_records_may_not_all_have_arrived_is_named(tmp_path: Path, collector: FakeCollector):
    lease = lease_in(tmp_path, collector)
    collector.raises = Conflict("run a belonged to process 7 on web-1, which has not said so", "records_undelivered")
    with pytest.raises(RunAlive, match="process 7 on web-1, which has not said so: what it did may be done again"):
        lease.take(KNOWN, unless_heard=False)
    collector.raises = Conflict("nobody has said so", "holder_unknown")
    with pytest.raises(RunAlive, match=f"run {RUN} was recorded by process 5 on web-0, and nobody has said so: .*ship"):
        lease.take(KNOWN, unless_heard=False)
    lease.release()
    asked = [how for what, how in collector.asked if what == "take"]
    assert [(how["unless_undelivered"], how["begun_here"], how["attempt"]) for how in asked] == [(True, True, 1)] * 2


def test_who_takes_over_what_may_not_have_arrived_makes_a_later_attempt(tmp_path: Path, collector: FakeCollector):
    collector.attempt = 4
    lease = lease_in(tmp_path, collector, force=True)
    assert lease.take(KNOWN, unless_heard=True) == 4
    lease.release()
    (taken, released) = (how for _, how in collector.asked)
    assert (taken["force"], taken["unless_heard"], released["attempt"]) == (True, False, 4)


@pytest.mark.parametrize("error", [CollectorUnreachable("down"), NotFound("nothing is at /lease")])
def test_without_a_collector_the_local_one_does_and_the_other_is_taken_when_it_is_back(
    tmp_path: Path, collector: FakeCollector, error: Exception
):
    collector.raises = error
    lease = lease_in(tmp_path, collector, force=True)
    lease.take(KNOWN, unless_heard=False)
    assert lease.renew()
    collector.raises = None
    assert lease.renew()
    assert lease.renew()
    lease.release()
    # Nobody knows who has it meanwhile, so what follows is no force any more.
    assert collector.words == ["take", "renew", "renew", "renew", "release"]
    assert [how.get("attempt") for _, how in collector.asked] == [1] * 5


def test_who_loses_it_is_told_once_and_gives_nothing_back(
    tmp_path: Path, collector: FakeCollector, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING, "playhead")
    lease = lease_in(tmp_path, collector)
    lease.take(KNOWN, unless_heard=False)
    owner = lease.own(1)
    assert not lease.lost
    collector.raises = Conflict("run a belongs to process 7 on web-1")
    assert [lease.renew(), lease.renew()] == [False, False]
    assert lease.lost
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(f"run {RUN} was taken over by another process (run a belongs to process 7 on web-1)")
    assert owner.loss(exact=True) == warning
    lease.release()
    assert "release" not in collector.words


def test_a_process_of_this_machine_that_forces_its_way_is_noticed_without_a_collector(
    tmp_path: Path, collector: FakeCollector, caplog: pytest.LogCaptureFixture
):
    collector.raises = CollectorUnreachable("down")
    lease = lease_in(tmp_path, collector)
    lease.take(KNOWN, unless_heard=False)
    owner = lease.own(1)
    assert owner.loss(exact=True) is None
    forced = acquire_lease(tmp_path, RUN, force=True)
    assert forced is not None
    assert "was taken over by process" in (owner.loss(exact=True) or "")
    assert not lease.renew()
    assert lease.lost
    assert "was taken over by process" in caplog.text
    lease.release()
    assert forced.is_held
    forced.release()


def test_it_is_kept_until_it_runs_out_when_not_all_is_delivered(tmp_path: Path, collector: FakeCollector):
    lease, _ = local_lease(LeaseTerms(tmp_path, lambda: collector, 3600.0, deliver=lambda: False), RUN)
    assert lease is not None
    lease.take(KNOWN, unless_heard=False)
    lease.release()
    assert collector.words == ["take"]
    assert collector.closed == 1
    assert acquire_lease(tmp_path, RUN) is not None, "this machine has the whole record"


def test_no_seconds_mean_this_machine_only(tmp_path: Path, collector: FakeCollector):
    lease = lease_in(tmp_path, collector, seconds=0)
    lease.take(KNOWN, unless_heard=True)
    lease.release()
    assert collector.asked == []


def test_a_folder_that_cannot_be_written_to_is_told_and_stops_nobody(
    tmp_path: Path, collector: FakeCollector, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "leases").write_text("a file")
    lease = lease_in(tmp_path, collector)
    assert "see that no other process resumes it" in caplog.text
    lease.take(KNOWN, unless_heard=False)
    assert lease.renew()
    lease.release()


executed: list[int] = []


@observe(kind="tool")
def work(number: int) -> int:
    executed.append(number)
    if number == 2 and not executed.count(2) > 1:
        raise KeyboardInterrupt  # as when somebody stops the program
    return number


def until_it_is_stopped(seen: list[str | None]) -> None:
    with playhead.run("p") as run:
        seen.append(run.id)
        work(1)
        work(2)


def interrupted() -> str:
    executed.clear()
    seen: list[str | None] = []
    with pytest.raises(KeyboardInterrupt):
        until_it_is_stopped(seen)
    assert seen[0] is not None
    return seen[0]


def enter(resumed: Any) -> None:
    with resumed:
        pass


def test_a_run_is_not_resumed_twice_at_a_time():
    run_id = interrupted()
    with playhead.resume(run_id, in_doubt="rerun") as first:
        with pytest.raises(RunAlive, match=rf"^run {run_id} is being resumed by process \d+ since .* UTC; end that"):
            enter(playhead.resume(run_id))
        assert not first.lease_lost
    enter(playhead.resume(run_id, in_doubt="rerun"))


def test_a_run_that_has_completed_gives_its_results_to_as_many_as_ask():
    with playhead.run("p") as run:
        work(1)
    assert run.id is not None
    with playhead.resume(run.id), playhead.resume(run.id) as second, playhead.run("p"):
        assert work(1) == 1
    assert second.report.answered == 1


def test_an_error_on_the_way_in_gives_the_lease_back():
    run_id = interrupted()
    for _ in range(2):
        with pytest.raises(playhead.PlayheadError, match="has no call at nothing"):
            enter(playhead.resume(run_id, outcomes={"nothing": 1}))
