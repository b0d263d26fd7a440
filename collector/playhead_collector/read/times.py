"""[read]: how long something took."""


def elapsed_ms(start_ns: int, end_ns: int | None) -> float | None:
    """Milliseconds between start and end; None while there is no end."""
    return None if end_ns is None else (end_ns - start_ns) / 1e6
