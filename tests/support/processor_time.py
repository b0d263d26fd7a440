"""How long work takes, on a machine that others use as well.

What disturbs a measurement only makes it longer, and for a while.  So the least of several is what counts, two amounts
of work are measured in turns, and what looks too slow is measured again: slow work stays slow, noise does not.
"""

import gc
import time
from collections.abc import Callable

Work = Callable[[], object]
_MOST_ATTEMPTS = 12


def seconds_of(work: Work) -> float:
    """Processor time of this process for doing it once, without garbage collection."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        begun = time.process_time()
        work()
        return time.process_time() - begun
    finally:
        if was_enabled:
            gc.enable()


def assert_takes_at_most(times: float, longer: Work, shorter: Work) -> None:
    """Raises AssertionError unless `longer` takes at most so many times the processor time of `shorter`.

    `shorter` should take a millisecond or more, and the true ratio be well below `times`.
    """
    most = least = float("inf")
    for _ in range(_MOST_ATTEMPTS):
        least = min(least, seconds_of(shorter))
        most = min(most, seconds_of(longer))
        least = min(least, seconds_of(shorter))
        if most <= times * least:
            return
    found = f"{most:.4f} s are {most / least:.1f} times {least:.4f} s"
    raise AssertionError(f"{found}; at most {times:g} times are allowed")


def assert_takes_less_than(seconds: float, work: Work, measure: Callable[[Work], float] = seconds_of) -> None:
    """Raises AssertionError unless it is done in so many seconds, of processor time by default, at least once.

    For work whose bad case takes many times as long.
    """
    taken: list[float] = []
    for _ in range(3):
        taken.append(measure(work))
        if taken[-1] < seconds:
            return
    raise AssertionError(f"took {', '.join(f'{each:.3f}' for each in taken)} s; less than {seconds:g} s are allowed")


def elapsed_seconds(work: Work) -> float:
    """What a clock on the wall says: waiting counts, too."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun
