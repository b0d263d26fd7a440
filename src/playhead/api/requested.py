"""Which tool call of the model a tool span answers: by name and equal arguments, first asked first answered."""

from playhead.api.run import ActiveRun

# A model that asks for tools which never run must not become a leak.
_MOST_REQUESTED = 256


def request_call(run: ActiveRun, name: str, arguments: bytes, call_id: str) -> None:
    """A model asked for this; `arguments` are canonical JSON."""
    if len(run.requested) < _MOST_REQUESTED:
        run.requested.setdefault((name, arguments), []).append(call_id)


def requested_call(run: ActiveRun, name: str, arguments: bytes) -> str | None:
    """The id of the oldest open request with this name and these arguments; it is then answered."""
    waiting = run.requested.get((name, arguments))
    if waiting is None:
        return None
    try:
        call_id = waiting.pop(0)
    except IndexError:  # another thread was quicker
        return None
    if not waiting:
        run.requested.pop((name, arguments), None)
    return call_id
