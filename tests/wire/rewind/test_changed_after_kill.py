"""A program that was killed and is resumed after a change executes nothing again that its record has."""

from pathlib import Path

import pytest

from tests.wire.rewind.test_killed_forks import Shop, answer

LIVE = {"on_divergence": "live"}
REUSE = {**LIVE, "completed": "reuse"}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "here")


@pytest.fixture
def killed(shop: Shop) -> str:
    """Look, check and pay have completed."""
    run_id = shop.killed(DIE_BEFORE="mail")
    assert shop.effects() == ["look A1", "check A1", "pay 1000"]
    return run_id


CHANGES = [
    {"KIND": "step"},
    {"KIND": ""},
    {"KIND": "agent"},
    {"KIND": "retriever"},
    {"NAME": "bill"},
    {"AGENT": "none"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("how", [{}, LIVE, REUSE], ids=str)
def test_nothing_is_executed_again(shop: Shop, killed: str, change: dict[str, str], how: dict[str, str]) -> None:
    shop.run("resume", killed, how=how, **change)
    executed = shop.effects()
    assert not {"look A1", "check A1", "pay 1000"}.intersection(executed)
    if not executed:  # the run is as it was
        assert answer(shop.run("resume", killed))[2] == "done: pay 1000"


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_is_asked_for_is_executed_again(shop: Shop, killed: str, change: dict[str, str]) -> None:
    shop.run("resume", killed, how={**LIVE, "completed": "rerun"}, **change)
    assert "pay 1000" in shop.effects()
