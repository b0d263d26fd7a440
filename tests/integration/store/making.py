"""Values to store, made short."""

from collections.abc import Sequence
from typing import Any

from playhead.model import names
from playhead.model.canonical import Content, canonical_json
from playhead.model.event import LlmCalled, LlmCompleted, MessageAdded, RunEvent, RunStarted, TokenUsage
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState, fold
from playhead.model.thread import Thread, thread_of
from playhead.projection.inputs import Projection
from playhead.projection.run_row import RunRow
from playhead.wire.pack import ThreadExtension

P = 1
RUN = "0198" + "a" * 28
TRACE = "b" * 32
START_NS = 1_760_000_000_000_000_000


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now_ns = START_NS

    def __call__(self) -> int:
        return self.now_ns

    def days_pass(self, days: float) -> None:
        self.now_ns += int(days * 86_400 * 1_000_000_000)


def says(*texts: str) -> list[Message]:
    """A conversation: user and assistant in turn."""
    return [text_message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(texts)]


def thread(*texts: str) -> Thread:
    return thread_of(says(*texts))


def whole(made: Thread) -> ThreadExtension:
    return ThreadExtension(None, tuple(node.message for node in made.nodes))


def after(prefix: Thread, longer: Thread) -> ThreadExtension:
    """What `longer` has more than `prefix`."""
    return ThreadExtension(prefix.ref, tuple(node.message for node in longer.nodes[len(prefix.nodes) :]))


def ref_of(made: Thread) -> ContentRef:
    assert made.ref is not None
    return made.ref


def json(value: Any) -> Content:
    return Content(canonical_json(value), "application/json")


def message(role: str, text: str) -> Content:
    return message_contents(text_message(role, text))[0]


def span(number: int, *, ended: bool = True, run: str | None = RUN, **attributes: Any) -> Span:
    """Span `number` of a run.  Attributes by the names in `playhead.model.names`: `INPUT_REF=ref`."""
    named = {getattr(names, name): value for name, value in attributes.items()}
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=None if number == 1 else f"{1:016x}",
        name=f"span {number}",
        start_ns=START_NS + number * 1_000,
        end_ns=START_NS + number * 1_000 + 500 if ended else None,
        attributes=named | ({names.RUN_ID: run} if run else {}),
        scope="playhead",
        resource={"service.name": "shop"},
    )


def started(number: int, *, run: str = RUN) -> LogEvent:
    """The announcement of span `number`."""
    begun = span(number, ended=False, run=run)
    meta = {names.SPAN_NAME: begun.name, names.SPAN_PARENT: begun.parent_id or ""}
    attributes = begun.attributes | meta
    return LogEvent(
        names.STARTED, begun.start_ns, begun.trace_id, begun.span_id, attributes, begun.scope, begun.resource
    )


def log(number: int, name: str = names.CHECKPOINT, **attributes: Any) -> LogEvent:
    return LogEvent(name, START_NS + number * 1_000, TRACE, f"{1:016x}", {names.RUN_ID: RUN, **attributes})


def run_number(number: int) -> str:
    return f"{number + 1:032x}"


def events(count: int, *, run: str = RUN) -> list[RunEvent]:
    """A run that starts, and then again and again adds a message, calls a model and gets its answer."""
    made: list[RunEvent] = [RunStarted(id="a.run_started.0", run=run, seq=1, time_ns=START_NS, span="a", name="shop")]
    for seq in range(2, count + 1):
        header: dict[str, Any] = {"run": run, "seq": seq, "time_ns": START_NS + seq * 1_001, "actor": "shop"}
        at = f"{(seq - 2) // 3:016x}"
        thread = ContentRef.of(b"thread %d" % seq)
        match (seq - 2) % 3:
            case 0:
                message = ContentRef.of(b"message %d" % seq)
                made.append(MessageAdded(id=f"{at}.message_added.0", span=at, role="user", message=message, **header))
            case 1:
                made.append(LlmCalled(id=f"{at}.llm_called.0", span=at, model="gpt-4o", thread=thread, **header))
            case _:
                usage = TokenUsage(seq * 7, seq)
                made.append(LlmCompleted(id=f"{at}.llm_completed.0", span=at, usage=usage, thread=thread, **header))
    return made


def row(run: str = RUN, **fields: Any) -> RunRow:
    return RunRow(
        **{"run": run, "name": "shop", "status": "running", "started_ns": START_NS, "ended_ns": None} | fields
    )


def projection(made: Sequence[RunEvent], **fields: Any) -> Projection:
    states: list[RunState] = [fold(made[:seq]) for seq in range(1_000, len(made) + 1, 1_000)]
    return Projection(made, row(**fields), states)
