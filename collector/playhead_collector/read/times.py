"""[read]: durations."""


def elapsed_ms(start_ns: int, end_ns: int | None) -> float | None:
    """Returns the milliseconds between start and end; None if there is no end yet."""
    return None if end_ns is None else (end_ns - start_ns) / 1e6
