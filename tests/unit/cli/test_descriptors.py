"""A process has a file descriptor for each connection that it takes, or says that it has not."""

import logging
from typing import Any

import pytest

from playhead_collector.cli import make_room
from playhead_collector.network.guard import Limits
from tests.support.logged import messages_of

resource: Any = pytest.importorskip("resource")  # Windows has no such limits

LIMITS = Limits(max_connections=1_000)
HTTP, BOTH = 1_700, 2_700
"""Descriptors for 1,000 connections, 500 in reserve and 200 others; and for 1,000 of gRPC."""


@pytest.fixture(autouse=True)
def _warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


def having(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, refused: type[Exception] | None = None) -> list[int]:
    """Makes the process have these limits. Returns a list of the soft limits that are set then."""
    was_set: list[int] = []

    def set_limit(_: int, limits: tuple[int, int]) -> None:
        assert limits[1] == hard
        if refused is not None:
            raise refused
        was_set.append(limits[0])

    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    return was_set


@pytest.mark.parametrize(("with_grpc", "wanted"), [(False, HTTP), (True, BOTH)])
@pytest.mark.parametrize("hard", [4_096, resource.RLIM_INFINITY])
def test_the_limit_is_raised_to_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, with_grpc: bool, wanted: int, hard: int
):
    was_set = having(monkeypatch, 1_024, hard)
    make_room(LIMITS, with_grpc=with_grpc)
    assert was_set == [wanted]
    assert messages_of(caplog, "playhead_collector.cli") == []


@pytest.mark.parametrize("soft", [BOTH, resource.RLIM_INFINITY])
def test_a_limit_that_is_high_enough_is_left(monkeypatch: pytest.MonkeyPatch, soft: int):
    was_set = having(monkeypatch, soft, resource.RLIM_INFINITY)
    make_room(LIMITS, with_grpc=True)
    assert was_set == []


def test_without_grpc_nobody_is_warned_of_connections_that_cannot_come(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    having(monkeypatch, 1_024, 2_000)
    make_room(LIMITS, with_grpc=False)
    assert messages_of(caplog, "playhead_collector.cli") == []


def test_a_limit_that_may_not_be_raised_so_far_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    was_set = having(monkeypatch, 1_024, 2_000)
    make_room(LIMITS, with_grpc=True)
    assert was_set == [2_000]
    assert "may open 2000 files and needs 2700" in caplog.text


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_system_that_refuses_is_no_reason_not_to_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
):
    having(monkeypatch, 256, resource.RLIM_INFINITY, refused=error)
    make_room(LIMITS, with_grpc=True)
    assert "may open 256 files" in caplog.text
