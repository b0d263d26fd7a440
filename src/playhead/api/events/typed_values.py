"""Records values that a later process gets back with their types: states of checkpoints, and values of `run.state`.

Each is stored as plain content, with the data to restore its type beside it. Neither is cut, whatever its size, since
the program asked for it.
"""

from typing import Any

from playhead.calls.recorder import Frames, Recorder
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import warn_once
from playhead.model import names
from playhead.model.objects.limits import CUT_SENTENCES
from playhead.model.ref import ContentRef


def typed_payload(
    to: Recorder, frames: Frames, span: ObservedSpan, name: str, value: Any
) -> dict[str, ContentRef | str | None]:
    """Records a value, and returns its attributes: the ref under `name`, and the ref of the data to restore its type,
    or the reason why it cannot be restored."""
    ref = to.payload(value, frames, span.redact, unbounded=True)
    if ref is None:
        return {names.UNRESTORABLE: "content is not recorded (PLAYHEAD_CAPTURE_CONTENT)"}
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    attributes: dict[str, ContentRef | str | None] = {name: ref}
    attributes[names.OUTPUT_TYPE] = "text" if kind is str else "bytes" if kind is bytes else "json"
    if (cut := frames.cut) is not None:
        why: str | None = CUT_SENTENCES[cut]
    elif not to.is_as_given(value, ref, span.redact, unbounded=True):
        why = "it is redacted in the record"
    else:
        attributes[names.RESTORE_REF], why = to.faithful(value, frames, whole=False, redact=span.redact, unbounded=True)
    if why is not None:
        attributes[names.UNRESTORABLE] = why
        warn_once(f"state {span.path} {why}", f"a state that {span.path} recorded cannot be given back later: {why}")
    return attributes
