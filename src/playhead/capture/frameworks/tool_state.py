"""What a tool changes in a state that its framework keeps for the program (of a session or a context).

It is recorded with the tool's result, and changed again when the record answers the call.
Only entries of plain data are recorded.  Others, such as a history of messages, are the framework's own.
"""

import json
from collections.abc import MutableMapping

from playhead.capture.frameworks.observing import log_errors_and_return_none
from playhead.model.json_value import list_at, object_at, object_of

State = MutableMapping[str, object]


@log_errors_and_return_none
def plain_entries(state: State) -> dict[str, str]:
    """Returns the entries of plain data, as JSON texts."""
    dumped = {name: _dumped(value) for name, value in state.items()}
    return {name: text for name, text in dumped.items() if text is not None}


def _dumped(value: object) -> str | None:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None


@log_errors_and_return_none
def changes(before: dict[str, str] | None, state: State) -> dict[str, object]:
    """Returns what was set since `before` (as `plain_entries` returned it), and what was removed; empty: nothing."""
    now = plain_entries(state)
    if before is None or now is None or before == now:
        return {}
    changed = {name: json.loads(text) for name, text in now.items() if text != before.get(name)}
    return {"set": changed, "removed": [name for name in before if name not in now]}


@log_errors_and_return_none
def make_again(recorded: object, state: State) -> None:
    """Makes recorded `changes` in the state."""
    state.update(object_at(object_of(recorded), "set"))
    for name in list_at(object_of(recorded), "removed"):
        state.pop(str(name), None)
