"""Which process of this machine goes on with a run: files that the kernel unlocks."""

import os
from pathlib import Path

from playhead.journal.lane import lanes
from playhead.journal.leases import acquire_lease, journal_name, lease_holder

RUN = "a" * 32


def test_of_two_that_want_a_run_one_gets_it_and_the_other_can_say_who_has_it(tmp_path: Path):
    first = acquire_lease(tmp_path, RUN)
    assert first is not None
    assert acquire_lease(tmp_path, RUN) is None
    assert lease_holder(tmp_path, RUN).startswith(f"process {os.getpid()} since 2")
    other = acquire_lease(tmp_path, "b" * 32)
    assert other is not None
    other.release()
    first.release()


def test_a_lease_that_was_given_back_is_anybody_s_and_leaves_nothing(tmp_path: Path):
    first = acquire_lease(tmp_path, RUN)
    assert first is not None
    first.release()
    first.release()
    assert list((tmp_path / "leases").iterdir()) == []
    second = acquire_lease(tmp_path, RUN)
    assert second is not None
    assert second.is_held
    assert not first.is_held
    second.release()


def test_a_lease_can_be_taken_with_force_and_the_first_holder_can_tell(tmp_path: Path):
    first = acquire_lease(tmp_path, RUN)
    forced = acquire_lease(tmp_path, RUN, force=True)
    assert first is not None
    assert forced is not None
    assert (first.is_held, forced.is_held) == (False, True)
    first.release()
    assert forced.is_held, "what was lost is not given back"
    assert acquire_lease(tmp_path, RUN) is None
    forced.release()


def test_a_forked_child_does_not_keep_its_parent_s_lease(tmp_path: Path):
    lease = acquire_lease(tmp_path, RUN)
    assert lease is not None
    told, tell = os.pipe()
    waits, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(tell, b"here")
        os.close(go)
        os.read(waits, 1)  # until the parent is done
        lease.release()
        os._exit(0)
    os.read(told, 4)
    lease.release()
    again = acquire_lease(tmp_path, RUN)
    assert again is not None, "the child lives, and holds nothing"
    os.close(waits)
    os.close(go)
    os.waitpid(child, 0)
    assert again.is_held, "the child gave back nothing that is not its own"
    again.release()
    for end in (told, tell):
        os.close(end)


def test_a_journal_has_a_name_that_stays(tmp_path: Path):
    name = journal_name(tmp_path / "one")
    assert journal_name(tmp_path / "one") == name
    assert journal_name(tmp_path / "two") != name
    assert [path.name for path in (tmp_path / "one" / "leases").iterdir()] == ["journal"]


def test_leases_are_no_lanes(tmp_path: Path):
    lease = acquire_lease(tmp_path, RUN)
    assert lease is not None
    assert lanes(tmp_path) == []
    lease.release()
