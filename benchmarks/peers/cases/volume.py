"""100,000 calls in a loop: what they cost in memory, and how many are recorded."""

import ctypes
import gc
import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, expect

CALLS = int(os.environ.get("PROBE_CALLS", "100000"))
# Calls before memory is first looked at: caches and buffers have their full size then.
_WARM_UP = CALLS // 2
# A tenth of what the attributes of one span take.
_BYTES_PER_CALL = 100


def _resident_bytes() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps for itself is not in use
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measured(call: Callable[[int], int], wait: Callable[[], int]) -> float:
    """Calls CALLS times; returns the bytes of memory that each call after the warm-up kept.

    If these are too many, it measures again, up to twice: a leak goes on, and what a thread holds for a moment does
    not.
    """
    for x in range(_WARM_UP):
        call(x)
    wait()
    kept = float("inf")
    for _ in range(3):
        before = _resident_bytes()
        for x in range(_WARM_UP, CALLS):
            call(x)
        wait()
        kept = min(kept, (_resident_bytes() - before) / (CALLS - _WARM_UP))
        if kept <= _BYTES_PER_CALL:
            break
    return kept


def memory(tool: RecordingTool) -> None:
    @tool.decorate
    def tick(x: int) -> int:
        return x

    kept = _measured(tick, tool.count_only())
    expect(kept <= _BYTES_PER_CALL, f"memory grows by {kept:,.0f} bytes per call")


def memory_inside_one_call(tool: RecordingTool) -> None:
    found: list[float] = []

    @tool.decorate
    def tick(x: int) -> int:
        return x

    wait = tool.count_only()

    @tool.decorate
    def loop() -> None:
        found.append(_measured(tick, wait))

    loop()
    expect(found[0] <= _BYTES_PER_CALL, f"memory grows by {found[0]:,.0f} bytes per call until the outer call ends")


def none_lost(tool: RecordingTool) -> None:
    @tool.decorate
    def tick(x: int) -> int:
        return x

    wait = tool.count_only()
    for x in range(CALLS):
        tick(x)
    count = wait()
    expect(count == CALLS, f"{count:,} of {CALLS:,} calls are recorded")


CASES = (
    Case("100,000 calls in a loop", "memory stays flat: at most 100 bytes per call", memory),
    Case("100,000 calls in a loop inside one call", "the same, while the outer call lasts", memory_inside_one_call),
    Case("100,000 calls as fast as the loop can", "all are recorded", none_lost),
)
