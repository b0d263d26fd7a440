"""A store of LangGraph: each namespace is a log of items, kept as conversations are."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from playhead.conversations.keeping import conversation_store
from playhead.conversations.langgraph.codec import ValueReader, ValueWriter
from playhead.conversations.langgraph.contents import RecentContents
from playhead.conversations.langgraph.items import (
    ItemLog,
    StoredItem,
    gone_record,
    matches,
    namespace_matches,
    read_record,
    share_of_words,
)
from playhead.conversations.record_log import Addition, RecordLog
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json
from playhead.wire.operations.conversations import GRAPH_STORE_ID_PREFIX

_MOST_LOGS: Final = 256
_LONGEST_ID: Final = 500

Namespace = tuple[str, ...]


class PlayheadStore(BaseStore):
    """Keeps items at the collector, or in the journal's folder while it does not answer.

        graph = builder.compile(checkpointer=PlayheadSaver(), store=PlayheadStore())

    There are no embeddings: the `query` of a search is words, and finds the items that have at least one of them in
    their text, those with most of them first. `index=` of `put` has no effect. A search reads each namespace under its
    prefix. Items that have expired are not returned, and go when their namespace is written anew. Safe for threads.

    Methods raise CollectorUnreachable if the collector has what is needed and does not answer, CannotRestore for what
    is not stored any more, JournalUnusable, and ValueError for a namespace that is too long (about 480 characters).
    """

    supports_ttl = True

    def __init__(
        self,
        *,
        scope: str = "",
        ttl: TTLConfig | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`scope`: whose items these are, such as a user or a tenant. `ttl`: LangGraph's, in minutes. `now`: the
        clock."""
        self.scope = scope
        self.ttl_config = ttl
        self._now = now
        self._serde = JsonPlusSerializer()
        self._lock = ForkSafeLock()
        self._logs: OrderedDict[Namespace, RecordLog[ItemLog]] = OrderedDict()
        self._contents = RecentContents()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: reads first, as they were before the writes; of several writes to a key, the last one.
        The writes to a namespace are one save."""
        results: list[Result] = []
        writes: dict[Namespace, dict[str, PutOp]] = {}
        for op in ops:
            if isinstance(op, PutOp):
                writes.setdefault(op.namespace, {})[op.key] = op
                results.append(None)
            else:
                results.append(self._answer(op))
        for namespace, of_namespace in writes.items():
            self._write(namespace, [*of_namespace.values()])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return await asyncio.to_thread(self.batch, [*ops])

    # --- inside ------------------------------------------------------------------------------------------------------

    def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise TypeError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        items = self._living(op.namespace)
        if op.key not in items:
            return None
        found = {op.key: items[op.key]}
        value = self._values(op.namespace, found)[op.key]
        self._refresh(op.namespace, found, wanted=op.refresh_ttl)
        stored = found[op.key]
        return Item(
            value=value, key=op.key, namespace=op.namespace, created_at=stored.created, updated_at=stored.updated
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: list[SearchItem] = []
        for namespace in self._namespaces(op.namespace_prefix):
            items = self._living(namespace)
            for key, value in self._values(namespace, items).items():
                if all(matches(value.get(name), wanted) for name, wanted in (op.filter or {}).items()):
                    found.append(SearchItem(namespace, key, value, items[key].created, items[key].updated))
        if op.query:
            for item in found:
                item.score = share_of_words(op.query, canonical_json(item.value).decode())
            found = sorted((item for item in found if item.score), key=lambda item: -(item.score or 0))
        page = found[op.offset : op.offset + op.limit]
        for namespace in dict.fromkeys(item.namespace for item in page):
            items = self._living(namespace)
            keys = [item.key for item in page if item.namespace == namespace and item.key in items]
            self._refresh(namespace, {key: items[key] for key in keys}, wanted=op.refresh_ttl)
        return page

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        found = [
            namespace
            for namespace in self._namespaces(())
            if all(namespace_matches(namespace, each.match_type, each.path) for each in op.match_conditions or ())
            and self._living(namespace)
        ]
        cut = sorted({namespace[: op.max_depth] for namespace in found})  # None: whole
        return cut[op.offset : op.offset + op.limit]

    def _write(self, namespace: Namespace, ops: Sequence[PutOp]) -> None:
        writer, now = ValueWriter(self._serde), self._now()
        values = {op.key: writer.value(dict(op.value)) for op in ops if op.value is not None}

        def addition(state: ItemLog) -> Addition:
            records: list[Json] = []
            for op in ops:
                if op.key in values:
                    records.append(state.put_record(op.key, values[op.key], op.ttl, now))
                elif op.key in state.items:
                    records.append(gone_record(op.key))
            return Addition(records, writer.contents)

        log = self._log(namespace)
        log.append(addition)
        self._contents.add(writer.contents.values())
        log.rewrite(lambda state: Addition(state.living_records(now)) if state.is_stale(now) else None)

    def _refresh(self, namespace: Namespace, items: Mapping[str, StoredItem], *, wanted: bool) -> None:
        """Begins the time to live of items anew."""
        keys = [key for key, item in items.items() if item.ttl is not None] if wanted else []
        if keys:
            now = self._now()
            self._log(namespace).append(
                lambda state: Addition([read_record(key, now) for key in keys if key in state.items])
            )

    def _living(self, namespace: Namespace) -> Mapping[str, StoredItem]:
        now = self._now()
        items = [*self._log(namespace).read().items.items()]  # another thread may write while these are looked at
        return {key: item for key, item in items if not item.is_expired(now)}

    def _values(self, namespace: Namespace, items: Mapping[str, StoredItem]) -> dict[str, dict[str, Any]]:
        refs = [*dict.fromkeys(ref for item in items.values() for ref in item.value.refs())]
        reader = ValueReader(self._serde, self._contents.read(refs, self._log(namespace).head))
        return {key: reader.value(item.value) for key, item in items.items()}

    def _namespaces(self, prefix: Namespace) -> list[Namespace]:
        heads = conversation_store().heads(self.scope, None, _id_of(prefix))
        return sorted(_namespace_of(head.id) for head in heads)

    def _log(self, namespace: Namespace) -> RecordLog[ItemLog]:
        with self._lock:
            log = self._logs.get(namespace)
            if log is None:
                log = self._logs[namespace] = RecordLog(_id_of(namespace), self.scope, ItemLog)
            self._logs.move_to_end(namespace)
            if len(self._logs) > _MOST_LOGS:
                self._logs.popitem(last=False)
            return log


def _id_of(namespace: Namespace) -> str:
    """The id of a namespace. That of another begins with it exactly if the other is below it. Raises ValueError."""
    name = GRAPH_STORE_ID_PREFIX + "".join(f"{quote(label, safe=' ')}/" for label in namespace)
    if len(name) > _LONGEST_ID:
        raise ValueError(f"the namespace {namespace} is too long: its id has {len(name)} characters, of {_LONGEST_ID}")
    return name


def _namespace_of(name: str) -> Namespace:
    return tuple(unquote(label) for label in name.removeprefix(GRAPH_STORE_ID_PREFIX).split("/")[:-1])
