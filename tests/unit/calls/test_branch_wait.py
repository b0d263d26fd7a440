"""A call waits for other branches while they do something, but not for ever, and not by the clock alone."""

from playhead.calls.recorded_answer import BranchTimeout


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lasted(patience: BranchTimeout, clock: Clock, seconds: float, looks: int, *, progress_every: int = 0) -> int:
    """How many looks, so many seconds apart, it lasts."""
    for number in range(looks):
        if not patience.may_continue(number // progress_every if progress_every else 0):
            return number
        clock.now += seconds
    return looks


def test_it_ends_when_nobody_does_anything_for_so_long():
    clock = Clock()
    assert lasted(BranchTimeout(1.0, 0, clock), clock, 0.01, 1000) in (100, 101)
    assert lasted(BranchTimeout(0.0, 0, clock), clock, 0.01, 1000) == 0


def test_what_others_do_prolongs_it_ten_times_at_most():
    clock = Clock()
    assert lasted(BranchTimeout(1.0, 0, clock), clock, 0.01, 500, progress_every=50) == 500
    assert lasted(BranchTimeout(1.0, 0, clock), clock, 0.01, 5000, progress_every=50) in (1000, 1001)


def test_time_in_which_nobody_could_do_anything_does_not_count():
    clock = Clock()
    assert lasted(BranchTimeout(1.0, 0, clock), clock, 30.0, 40) == 40
