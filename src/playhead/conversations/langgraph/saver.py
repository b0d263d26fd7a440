"""A checkpointer of LangGraph: a thread is a log of checkpoints and writes, kept as conversations are."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from playhead.conversations.conversation import message_intake
from playhead.conversations.keeping import conversation_store
from playhead.conversations.langgraph.checkpoints import CheckpointLog, Place, StoredCheckpoint, StoredWrite
from playhead.conversations.langgraph.codec import ValueReader, ValueWriter
from playhead.conversations.langgraph.configs import (
    WantedCheckpoints,
    checkpoint_tuple,
    config_of,
    inherited,
    namespace_of,
    thread_of,
)
from playhead.conversations.langgraph.contents import RecentContents
from playhead.conversations.langgraph.stored_values import StoredValue
from playhead.conversations.record_log import Addition, RecordLog
from playhead.errors import CannotRestore
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import warn_once
from playhead.model.json_value import Json
from playhead.wire.operations.conversations import GRAPH_THREAD_ID_PREFIX

if TYPE_CHECKING:
    from langgraph.checkpoint.base import DeltaChannelHistory

_MOST_LOGS: Final = 256
_AT_A_TIME: Final = 50

ThreadLog = RecordLog[CheckpointLog]


class PlayheadSaver(BaseCheckpointSaver[int]):
    """Keeps checkpoints of LangGraph's threads at the collector, or in the journal's folder while it does not answer.

        graph = builder.compile(checkpointer=PlayheadSaver())

    A message is stored once, however many checkpoints have it; of other values, what has changed. Any process and any
    machine goes on with a thread. For `compile`, synchronous or asynchronous graphs. Safe for threads.

    Methods raise CollectorUnreachable if the collector has what is needed and does not answer, CannotRestore for what
    is not stored any more, JournalUnusable, and what the serialiser raises for values that it cannot write.
    """

    def __init__(self, *, scope: str = "", serde: SerializerProtocol | None = None) -> None:
        """`scope`: whose threads these are, such as a user or a tenant; two scopes may use the same thread ids.
        `serde`: LangGraph's serialiser, such as one that encrypts; default: `JsonPlusSerializer`."""
        super().__init__(serde=serde)
        self.scope = scope
        self._lock = ForkSafeLock()
        self._logs: OrderedDict[str, ThreadLog] = OrderedDict()
        self._contents = RecentContents()

    # --- reading -----------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint of a thread; without an id in `config`, the last one of the namespace."""
        thread, namespace = thread_of(config), namespace_of(config)
        log = self._log(thread)
        state = log.read()
        wanted = get_checkpoint_id(config)
        found = state.checkpoints.get((namespace, wanted)) if wanted else state.latest(namespace)
        if found is None and wanted and (namespace, wanted) in state.unreadable:
            raise CannotRestore(f"checkpoint {wanted} goes on from one that was deleted before it arrived")
        return None if found is None else self._tuples(thread, log, state, [found])[0]

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, newest first: of a thread, or of all (None). `filter`: members of their metadata. With no
        namespace in `config`, of all namespaces."""
        for page in self._pages(config, filter, before, limit):
            yield from page

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> "Mapping[str, DeltaChannelHistory]":
        """Returns what rebuilds delta channels: the last stored value before a checkpoint, and the writes since."""
        thread, namespace = thread_of(config), namespace_of(config)
        log = self._log(thread)
        state = log.read()
        latest = state.latest(namespace)
        target = get_checkpoint_id(config) or ("" if latest is None else latest.id)
        writes: dict[str, list[StoredWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, StoredValue] = {}
        for ancestor in state.ancestors((namespace, target)):
            open_channels = [channel for channel in channels if channel not in seeds]
            if not open_channels:
                break
            for write in reversed(state.writes(ancestor.place)):
                if write.channel in open_channels:
                    writes[write.channel].append(write)
            seeds |= {channel: ancestor.values[channel] for channel in open_channels if channel in ancestor.values}
        reader = self._reader(log, [*seeds.values(), *(write.value for each in writes.values() for write in each)])
        history: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            pending = [(write.task, write.channel, reader.value(write.value)) for write in reversed(writes[channel])]
            history[channel] = {"writes": pending}
            if channel in seeds:
                history[channel]["seed"] = reader.value(seeds[channel])
        return history

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, durably once this returns. Its parent is the one that `config` names."""
        thread, namespace = thread_of(config), namespace_of(config)
        writer = ValueWriter(self.serde)
        written: dict[str, StoredValue] = {}
        members = {name: member for name, member in checkpoint.items() if name not in ("id", "channel_values")}
        fields: Json = {
            "checkpoint": {name: writer.field(member) for name, member in members.items()},
            "metadata": {name: writer.field(each) for name, each in get_checkpoint_metadata(config, metadata).items()},
        }
        new = StoredCheckpoint(namespace, checkpoint["id"], get_checkpoint_id(config), fields, {})

        def addition(state: CheckpointLog) -> Addition:
            parent = None if new.parent is None else state.checkpoints.get((namespace, new.parent))
            values: dict[str, StoredValue] = {}
            for channel, value in checkpoint["channel_values"].items():
                stored = None if channel in new_versions else inherited(parent, new, channel)
                if stored is None and channel not in written:
                    written[channel] = writer.value(value)
                values[channel] = stored or written[channel]
            whole = StoredCheckpoint(namespace, new.id, new.parent, fields, values)
            return Addition([state.put_record(whole)], writer.contents)

        self._log(thread).append(addition)
        self._contents.add(writer.contents.values())
        return config_of(thread, namespace, new.id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task has written after a checkpoint, durably once this returns. What is stored again changes
        nothing, but for LangGraph's own writes (errors, interrupts)."""
        thread, place = thread_of(config), (namespace_of(config), str(get_checkpoint_id(config)))
        writer = ValueWriter(self.serde)
        stored = [
            StoredWrite(task_id, WRITES_IDX_MAP.get(channel, index), channel, writer.value(value), task_path)
            for index, (channel, value) in enumerate(writes)
        ]

        def addition(state: CheckpointLog) -> Addition:
            there = {(write.task, write.index) for write in state.writes(place)}
            missing = [write for write in stored if write.index < 0 or (write.task, write.index) not in there]
            records = [state.writes_record(place, task_id, task_path, missing)] if missing else []
            return Addition(records, writer.contents)

        self._log(thread).append(addition)
        self._contents.add(writer.contents.values())

    # --- deleting ----------------------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Deletes a thread; what nothing else names is freed by the collector. Raises CollectorUnreachable, and deletes
        nothing, if the collector does not answer."""
        self._log(str(thread_id)).delete()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints with these `run_id`s in their metadata, of all threads of the scope: each is read. As
        LangGraph says, a later checkpoint may need them for its delta channels."""
        runs = {*map(str, run_ids)}
        for thread in self._threads() if runs else ():
            self._rewrite(thread, lambda state: state.of_runs(runs))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints and writes of a thread to another. Messages and values are stored once."""
        source, target = str(source_thread_id), str(target_thread_id)
        log = self._log(source)
        state = log.read()
        if state.is_empty or source == target:
            return
        contents = log.pending_contents()
        self._log(target).rewrite(lambda there: Addition(there.with_all_of(state), contents))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes checkpoints: with `keep_latest` all but the last one of each namespace, and those that it needs to
        rebuild delta channels; with `delete` all. Raises ValueError for another strategy."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"prune(strategy={strategy!r}): expected 'keep_latest' or 'delete'")
        for thread in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread)
            else:
                self._rewrite(thread, CheckpointLog.not_latest)

    # --- asynchronous: in a thread, since HTTP and files are blocking -----------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        pages = self._pages(config, filter, before, limit)
        while (page := await asyncio.to_thread(next, pages, None)) is not None:
            for each in page:
                yield each

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> "Mapping[str, DeltaChannelHistory]":
        """As `get_delta_channel_history`."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _log(self, thread: str) -> ThreadLog:
        with self._lock:
            log = self._logs.get(thread)
            if log is None:
                self._warn_of_redaction()
                log = self._logs[thread] = RecordLog(GRAPH_THREAD_ID_PREFIX + thread, self.scope, CheckpointLog)
            self._logs.move_to_end(thread)
            if len(self._logs) > _MOST_LOGS:
                self._logs.popitem(last=False)
            return log

    def _warn_of_redaction(self) -> None:
        if isinstance(self.serde, JsonPlusSerializer) and message_intake().redacts:
            warn_once(
                "redacted checkpoints",
                "the redaction hook is not applied to LangGraph's checkpoints, since a graph could not go on from what "
                "it changes: give PlayheadSaver a serialiser that encrypts (serde=) to store nothing in the clear",
            )

    def _threads(self) -> Sequence[str]:
        """The ids of all threads of this scope."""
        heads = conversation_store().heads(self.scope, None, GRAPH_THREAD_ID_PREFIX)
        return [head.id.removeprefix(GRAPH_THREAD_ID_PREFIX) for head in heads]

    def _pages(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[Sequence[CheckpointTuple]]:
        wanted = WantedCheckpoints(config, before, filter, ValueWriter(self.serde))
        left = limit
        for thread in self._threads() if config is None else (thread_of(config),):
            log = self._log(thread)
            state = log.read()
            found = [each for each in state.newest_first() if wanted.has(each)][:left]
            left = None if left is None else left - len(found)
            for first in range(0, len(found), _AT_A_TIME):
                yield self._tuples(thread, log, state, found[first : first + _AT_A_TIME])

    def _tuples(
        self, thread: str, log: ThreadLog, state: CheckpointLog, found: Sequence[StoredCheckpoint]
    ) -> Sequence[CheckpointTuple]:
        writes = [state.writes(each.place) for each in found]
        needed = [value for each in found for value in each.values.values()]
        reader = self._reader(log, [*needed, *(write.value for each in writes for write in each)])
        return [checkpoint_tuple(thread, each, of_it, reader) for each, of_it in zip(found, writes, strict=True)]

    def _reader(self, log: ThreadLog, values: Sequence[StoredValue]) -> ValueReader:
        refs = [*dict.fromkeys(ref for value in values for ref in value.refs())]
        return ValueReader(self.serde, self._contents.read(refs, log.head))

    def _rewrite(self, thread: str, removed: Callable[[CheckpointLog], Collection[Place]]) -> None:
        def fewer(state: CheckpointLog) -> Addition | None:
            places = removed(state)
            return Addition(state.without(places)) if places else None

        self._log(thread).rewrite(fewer)
