"""Chains of resumes over two machines, and owners that stand still while others take their runs over.

`python -m tests.support.machines 200` runs many, `--force` with takeovers, `--frozen` frozen ones.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead_collector.process import CollectorProcess
from tests.support.machines.chain import Chain
from tests.support.machines.frozen import freeze


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


# Drawn so that some attempts are refused, and some are made on another machine than the one before.
@pytest.mark.parametrize("name", ["b-3", "c-3"])
def test_a_chain_of_resumes_over_two_machines_ends_complete(
    tmp_path: Path, collector: CollectorProcess, name: str
) -> None:
    checked = Chain(tmp_path / name, collector.url, name).run()
    assert checked.wrong == []
    assert checked.kills


def test_so_does_one_with_takeovers(tmp_path: Path, collector: CollectorProcess) -> None:
    checked = Chain(tmp_path / "g-11", collector.url, "g-11", may_force=True).run()
    assert checked.wrong == []
    assert checked.forced


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_owner_that_stood_still_executes_and_records_nothing_after_it_was_overtaken(
    tmp_path: Path, collector: CollectorProcess, elsewhere: bool, resumed: bool
) -> None:
    thawed = freeze(tmp_path / "frozen", collector.url, "frozen", elsewhere=elsewhere, resumed=resumed)
    assert thawed.wrong == []
