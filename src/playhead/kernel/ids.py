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
    """Returns 128 random bits, never 0."""
    return _random.getrandbits(128) or 1


def new_span_id() -> int:
    """Returns 64 random bits, never 0."""
    return _random.getrandbits(64) or 1


def new_process_id() -> str:
    """Returns 64 random bits as 16 hex digits: the id of a process's part in a run. The system's process ids are not
    used, since they are reused and reveal something about the machine."""
    return f"{_random.getrandbits(64):016x}"


def new_run_id() -> str:
    """Returns a UUIDv7 (RFC 9562) as 32 hex digits: ids sort by the millisecond at which the run began."""
    ms = time.time_ns() // 1_000_000
    low = _random.getrandbits(74)
    return f"{ms << 80 | 7 << 76 | (low >> 62) << 64 | 2 << 62 | low & (1 << 62) - 1:032x}"


def process_name() -> str:
    """Returns a name of this process for people: `process PID on HOST`."""
    return f"process {os.getpid()} on {socket.gethostname()}"
