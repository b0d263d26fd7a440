"""[store]: what recorded runs wait for, by their own events."""

from collections.abc import Mapping, Sequence
from typing import Any

from playhead.model.canonical import value_of
from playhead.model.event import ApprovalDenied, ApprovalGranted, ApprovalRequested, InputReceived, InputRequested
from playhead.model.ref import ContentRef
from playhead_collector.store.ports.promises import StoredPromise
from playhead_collector.store.records.ports import RecordSource
from playhead_collector.store.records.projecting import RecordProjector

_MOST = 100


class RecordPromises:
    """Implements `ports.promises.PromiseReader`: a request without an answer in the record is open."""

    def __init__(self, source: RecordSource, projector: RecordProjector) -> None:
        self._source = source
        self._projector = projector

    async def open_of(self, project_id: int, run: str) -> Sequence[StoredPromise]:
        projection = self._projector.projection(run)
        waits: dict[str, ApprovalRequested | InputRequested] = {}
        for event in projection.events if projection is not None else ():
            match event:
                case ApprovalRequested(approval=name):
                    waits[name] = event
                case InputRequested(wait=name):
                    waits[name] = event
                case ApprovalGranted(approval=name) | ApprovalDenied(approval=name):
                    waits.pop(name, None)
                case InputReceived(wait=name):
                    waits.pop(next(iter(waits), "") if name is None else name, None)
                case _:
                    pass
        return [self._promise(run, name, event) for name, event in list(waits.items())[:_MOST]]

    def _promise(self, run: str, name: str, event: ApprovalRequested | InputRequested) -> StoredPromise:
        details = self._value(event.arguments if isinstance(event, ApprovalRequested) else event.prompt)
        body: dict[str, Any] = {
            "key": name,
            "name": None,
            "action": None,
            "risk": None,
            "details": details,
            "schema": None,
        }
        if isinstance(event, ApprovalRequested):
            body |= {"name": event.tool, "action": event.action, "risk": event.risk}
        elif isinstance(details, str):
            body |= {"action": details, "details": None}
        kind = "approval" if isinstance(event, ApprovalRequested) else "input"
        return StoredPromise(name, kind, run, body, event.time_ns, None, None, None)

    def _value(self, ref: ContentRef | None) -> object:
        contents: Mapping[ContentRef, Any] = {} if ref is None else self._source.contents([ref])
        content = next(iter(contents.values()), None)
        return None if content is None else value_of(content)
