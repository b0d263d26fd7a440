"""What the query API answers: the collector's response models (and so its OpenAPI) and the client's types, once.

Every list is a `Page`.  Times are RFC 3339 texts in UTC with nanoseconds, because JavaScript cannot hold such integers;
`seq` is an event's place in its run, and wherever a moment is asked for (`at`), a seq or an event id will do.  Refs
stand under `refs` by name; with `hydrate=true` their values stand under `values` by the same names, and `missing` lists
those that are not stored (their values are null).
"""

from playhead.wire.answers.analysis.compression import Compression, CompressionAudit, FactNeeded, LostFact, MessagePlace
from playhead.wire.answers.analysis.reasoning import (
    ChangedArgument,
    Explanation,
    InferredReasoning,
    InferredStep,
    Quoted,
    ReasonedOption,
    Reasoning,
    StructuredReasoning,
)
from playhead.wire.answers.analysis.tokens import (
    Calibration,
    ModelPrice,
    ModelTokens,
    PriceTable,
    TokenPoint,
    TokenTimeline,
    TokenTotals,
)
from playhead.wire.answers.calls import Call, CallError, ContextAt, HistoryEntry, LlmCall, Removal, ToolCall, TraceSpan
from playhead.wire.answers.content import ContentValue, ThreadMessages
from playhead.wire.answers.diff import Diff
from playhead.wire.answers.page import CutText, ErrorAnswer, ErrorDetail, Page
from playhead.wire.answers.runs import Completeness, Fork, RecordedEvent, RunDetail, RunSummary
from playhead.wire.answers.state import Checkpoint, ErrorNote, OpenCall, StateAt, StateValues

__all__ = [
    "Calibration",
    "Call",
    "CallError",
    "ChangedArgument",
    "Checkpoint",
    "Completeness",
    "Compression",
    "CompressionAudit",
    "ContentValue",
    "ContextAt",
    "CutText",
    "Diff",
    "ErrorAnswer",
    "ErrorDetail",
    "ErrorNote",
    "Explanation",
    "FactNeeded",
    "Fork",
    "HistoryEntry",
    "InferredReasoning",
    "InferredStep",
    "LlmCall",
    "LostFact",
    "MessagePlace",
    "ModelPrice",
    "ModelTokens",
    "OpenCall",
    "Page",
    "PriceTable",
    "Quoted",
    "ReasonedOption",
    "Reasoning",
    "RecordedEvent",
    "Removal",
    "RunDetail",
    "RunSummary",
    "StateAt",
    "StateValues",
    "StructuredReasoning",
    "ThreadMessages",
    "TokenPoint",
    "TokenTimeline",
    "TokenTotals",
    "ToolCall",
    "TraceSpan",
]
