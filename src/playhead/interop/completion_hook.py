"""OpenTelemetry's completion hook: content of the official GenAI instrumentations goes to the journal, and their spans
and events get refs.  Entry point `playhead` of the group `opentelemetry_genai_completion_hook`.

The hook is called in the program's thread just before the span ends.  It never raises, and never waits for the network:
it appends the contents to the journal. The end of the process, `playhead.flush()` and the next process deliver them.
"""

import dataclasses
from base64 import b64encode
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, cast

from playhead.calls import runtime
from playhead.interop.readable_spans import RecordedContent, without_unrecorded
from playhead.interop.zero_code import record_spans_of_others
from playhead.kernel.guard import guarded
from playhead.lift import lift
from playhead.model import names
from playhead.model.span import Span

_SCOPE: Final = "opentelemetry.util.genai"


class PlayheadCompletionHook:
    """Records inputs and outputs of official GenAI instrumentations, and sets refs on their spans.

    Ignores spans that are not sampled, unless `PLAYHEAD_RECORD=always`. With `OTEL_SDK_DISABLED`, ignores all spans.
    """

    def on_completion(
        self,
        *,
        inputs: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        system_instruction: Sequence[Any] = (),
        tool_definitions: Sequence[Any] | None = None,
        span: Any = None,
        log_record: Any = None,
        **_: Any,
    ) -> None:
        """Records the contents of one call, and sets their refs on `span` and `log_record`. Called by the
        instrumentation. Never raises."""
        with guarded("record what a completion hook was given"):
            to = runtime.current.recorder or runtime.recorder()
            if to is None or not to.content:
                return
            record_spans_of_others()  # programs may set their provider after the instrumentors are on
            if span is not None and not (span.is_recording() or to.always):
                return
            payloads = {
                names.INPUT_MESSAGES: inputs,
                names.OUTPUT_MESSAGES: outputs,
                names.SYSTEM_INSTRUCTIONS: system_instruction,
                names.TOOL_DEFINITIONS: tool_definitions,
            }
            attributes = {name: _plain(value) for name, value in payloads.items() if value}
            contents = RecordedContent(to)
            lifted = lift(Span("0" * 32, "0" * 16, None, "", 0, None, attributes, scope=_SCOPE), extracted=contents)
            contents.keep()
            refs = _refs(lifted.span.attributes)
            if span is not None:
                span.set_attributes(refs)
            if log_record is not None:
                log_record.attributes = {**(log_record.attributes or {}), **refs}

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Does nothing: the contents are already in the journal."""


def _refs(attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in without_unrecorded(attributes).items()
        if name.endswith(names.REF_SUFFIX) and isinstance(value, str)
    }


def _plain(value: Any) -> Any:
    """Converts dataclasses of `opentelemetry.util.genai.types` to the JSON values that an attribute would hold. Leaves
    out fields that are None, encodes bytes as base64."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: _plain(inner) for name, inner in fields if inner is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


_HOOK: Final = PlayheadCompletionHook()


def completion_hook() -> PlayheadCompletionHook:
    """Returns the hook of this process: each instrumentor calls this, and all get the same hook."""
    return _HOOK
