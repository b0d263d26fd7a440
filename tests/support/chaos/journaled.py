"""What the journal of a chain has, read when its process is gone: which calls are completed, which are in doubt."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playhead.model import names
from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import Outcome, RecordedCall, recorded_calls
from tests.support.chaos.model import Model

_HARMLESS = ("llm", "retriever")
IDEMPOTENT = "upsert"


@dataclass(frozen=True, slots=True)
class Known:
    """`questions`, `tools` (by idempotency key): completed; `in_doubt`: places."""

    questions: Counter[str] = field(default_factory=Counter[str])
    tools: frozenset[str] = frozenset()
    in_doubt: Counter[str] = field(default_factory=Counter[str])
    tools_in_doubt: Mapping[str, str] = field(default_factory=dict[str, str])
    """Span id → idempotency key, of those that are not to be executed again unasked."""


def known(journal: Path, run_id: str, model: Model) -> Known | None:
    """None: it has nothing of the run."""
    record = read_local(journal, run_id)
    if record is None:
        return None
    calls = [call for call in recorded_calls(record.spans) if call.can_answer]
    settled = [call for call in calls if call.outcome is not Outcome.IN_DOUBT]
    doubtful = [call for call in calls if call.outcome is Outcome.IN_DOUBT]
    tools = [call for call in doubtful if call.kind not in _HARMLESS and call.name != IDEMPOTENT]
    return Known(
        Counter(model.question(_request_number(call)) for call in settled if call.kind == "llm"),
        frozenset(call.idempotency_key for call in settled if call.kind == "tool"),
        Counter(call.call_path for call in doubtful),
        {call.span.span_id: call.idempotency_key for call in tools},
    )


def _request_number(call: RecordedCall) -> int:
    return int(str(call.span.attributes[names.RESPONSE_ID]).removeprefix("chatcmpl-")[:6])
