"""Applies a person's edit to a model call of a resumed run: other messages, or another system prompt.

The span refers to both versions: the edited messages, which the model gets, and the program's own, by which the call is
found when this run itself is resumed.
"""

from collections.abc import Callable
from typing import Any

from playhead.calls.lifecycle import set_payload
from playhead.calls.replay import RequestEdit
from playhead.calls.span import ObservedSpan
from playhead.capture.model_values import ModelRequest
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.model.ref import ContentRef

BuildArguments = Callable[[list[Any] | None, str | None], Any]
"""Returns the call, in the capture module's own form, with other messages and another system prompt (None for either:
unchanged). Returns None if the call cannot be edited."""


def edited_arguments(
    span: ObservedSpan, request: ModelRequest, edit: RequestEdit, build_arguments: BuildArguments | None
) -> Any:
    """Records the edit on the call's span. Returns the result of `build_arguments`: the arguments to call the model
    with. Returns None if the edit does not concern this call. Raises RunStopped."""
    to, attributes = span.recorder, span.attributes
    native = request.as_native or _as_it_is
    unused = to.frames()
    unused.new = {}

    def ref_of(message: Any) -> ContentRef | None:
        return to.native_message(native(message), request.to_message, unused, span.redact)

    edited = edit.apply(request.messages, attributes.get(names.SYSTEM_INSTRUCTIONS_REF), ref_of)
    if edited is None:
        return None
    messages: list[Any] = [native(message) for message in edited.messages]
    changed = messages if messages != list(request.messages) else None
    arguments = build_arguments(changed, edited.system) if build_arguments is not None else None
    if arguments is None:
        raise ReplayDiverged(
            f"what {span.name} asks cannot be edited: the server keeps its conversation, or this API is not known; "
            'say what the model answers instead, {"message": ...}'
        )
    for asked_name, name in ((names.ASKED_MESSAGES_REF, names.INPUT_MESSAGES_REF), _SYSTEM):
        if name in attributes:
            attributes[asked_name] = attributes[name]
    attributes.pop(names.EXACT_REF, None)
    thread, exact = to.exact_thread(
        messages, request.to_message, request.from_message, span.run.threads, span.frames,
        shape=request.shape, redact=span.redact,
    )  # fmt: skip
    for name, ref in ((names.INPUT_MESSAGES_REF, thread), (names.EXACT_REF, exact)):
        if ref is not None:
            attributes[name] = ref
    if edited.system is not None:
        set_payload(span, names.SYSTEM_INSTRUCTIONS_REF, edited.system)
    set_payload(span, names.EDIT_REF, edited.description)
    return arguments


def _as_it_is(message: Any) -> Any:
    return message


_SYSTEM = (names.ASKED_SYSTEM_REF, names.SYSTEM_INSTRUCTIONS_REF)
