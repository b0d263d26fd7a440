"""Types of the query API's answers, used by the collector (response models, OpenAPI) and by the client.

Every list is a `Page`.  Times are RFC 3339 texts in UTC with nanoseconds, because JavaScript cannot represent such
integers.  `seq` is the number of an event in its run; parameters such as `at` take a seq or an event id.  `refs` has
the refs of values by name.  With `hydrate=true`, `values` has the values under the same names; `missing` lists the refs
that are not stored, whose values are null.
"""

from playhead.wire.operations.calls import (
    Call,
    CallError,
    ContextAt,
    HistoryEntry,
    LlmCall,
    Removal,
    ToolCall,
    TraceSpan,
)
from playhead.wire.operations.compression import (
    CompressionAudit,
    ContextMessage,
    FactNeeded,
    LostFact,
    RecordedCompression,
)
from playhead.wire.operations.content import ContentValue, ThreadMessages
from playhead.wire.operations.moments import (
    Checkpoint,
    CheckpointEntry,
    Diff,
    ErrorNote,
    OpenCall,
    StateAt,
    StateValues,
)
from playhead.wire.operations.page import CutText, ErrorAnswer, ErrorDetail, Page
from playhead.wire.operations.reasoning import (
    ChangedArgument,
    Explanation,
    InferredReasoning,
    InferredStep,
    Quoted,
    ReasonedOption,
    Reasoning,
    StructuredReasoning,
)
from playhead.wire.operations.runs import (
    Completeness,
    EventsMoved,
    Fork,
    RecordedEvent,
    RunDetail,
    RunProcess,
    RunSummary,
)
from playhead.wire.operations.tokens import (
    Calibration,
    ModelPrice,
    ModelTokens,
    PriceTable,
    TokenPoint,
    TokenTimeline,
    TokenTotals,
)

__all__ = [
    "Calibration",
    "Call",
    "CallError",
    "ChangedArgument",
    "Checkpoint",
    "CheckpointEntry",
    "Completeness",
    "CompressionAudit",
    "ContentValue",
    "ContextAt",
    "ContextMessage",
    "CutText",
    "Diff",
    "ErrorAnswer",
    "ErrorDetail",
    "ErrorNote",
    "EventsMoved",
    "Explanation",
    "FactNeeded",
    "Fork",
    "HistoryEntry",
    "InferredReasoning",
    "InferredStep",
    "LlmCall",
    "LostFact",
    "ModelPrice",
    "ModelTokens",
    "OpenCall",
    "Page",
    "PriceTable",
    "Quoted",
    "ReasonedOption",
    "Reasoning",
    "RecordedCompression",
    "RecordedEvent",
    "Removal",
    "RunDetail",
    "RunProcess",
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
