"""What depends on internals of Microsoft's Agent Framework (tested with agent-framework-core 1.3 and 1.23)."""


def is_buffered(stream: object) -> bool:
    """Whether a stream holds its updates back until a gate has passed all of them.  A hook for its result, also one
    that changes nothing, makes such a stream give other updates than it was given."""
    return getattr(stream, "_stream_updates", True) is False
