"""Ids of runs, traces and spans: random from a generator of our own, so that a program that seeds `random` still gets
different ids in every process, and a forked child other ids than its parent."""

import os
import socket
import time
from random import Random

_random = Random(os.urandom(32))  # noqa: S311 - ids have to be unique, not secret


def _reseed() -> None:
    _random.seed(os.urandom(32))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


def new_trace_id() -> int:
    """128 random bits, never 0."""
    return _random.getrandbits(128) or 1


def new_span_id() -> int:
    """64 random bits, never 0."""
    return _random.getrandbits(64) or 1


def new_process_id() -> str:
    """64 random bits as 16 hex digits: names a process's part in a run.  No process id of the system is used: these are
    given again, and say something about the machine."""
    return f"{_random.getrandbits(64):016x}"


def new_run_id() -> str:
    """A UUIDv7 (RFC 9562) as 32 hex digits: sorts by the millisecond at which the run began."""
    ms = time.time_ns() // 1_000_000
    low = _random.getrandbits(74)
    return f"{ms << 80 | 7 << 76 | (low >> 62) << 64 | 2 << 62 | low & (1 << 62) - 1:032x}"


def process_name() -> str:
    """This process, for people who look for it."""
    return f"process {os.getpid()} on {socket.gethostname()}"
