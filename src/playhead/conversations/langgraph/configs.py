"""What LangGraph's configurations name, and checkpoints as LangGraph takes them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple, get_checkpoint_id

from playhead.conversations.langgraph.checkpoints import StoredCheckpoint, StoredWrite
from playhead.conversations.langgraph.codec import ValueReader, ValueWriter
from playhead.conversations.langgraph.stored_values import StoredValue
from playhead.model.json_value import JsonMapping, object_at


def thread_of(config: RunnableConfig) -> str:
    """Returns the id of the thread. Raises ValueError if there is none."""
    thread = _configurable(config).get("thread_id")
    if thread is None:
        raise ValueError("a checkpoint belongs to a thread: pass config={'configurable': {'thread_id': ...}}")
    return str(thread)


def namespace_of(config: RunnableConfig) -> str:
    """Returns the namespace: empty for the outermost graph."""
    return str(_configurable(config).get("checkpoint_ns") or "")


def config_of(thread: str, namespace: str, checkpoint: str) -> RunnableConfig:
    """Returns the configuration that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


def checkpoint_tuple(
    thread: str, stored: StoredCheckpoint, writes: Sequence[StoredWrite], reader: ValueReader
) -> CheckpointTuple:
    """Returns a checkpoint as LangGraph takes it."""
    members = {name: reader.field(member) for name, member in object_at(stored.fields, "checkpoint").items()}
    values = {channel: reader.value(value) for channel, value in stored.values.items()}
    metadata = {name: reader.field(member) for name, member in stored.metadata.items()}
    parent = None if stored.parent is None else config_of(thread, stored.namespace, stored.parent)
    return CheckpointTuple(
        config_of(thread, stored.namespace, stored.id),
        cast(Checkpoint, {**members, "id": stored.id, "channel_values": values}),
        cast(CheckpointMetadata, metadata),
        parent,
        [(write.task, write.channel, reader.value(write.value)) for write in writes],
    )


def inherited(parent: StoredCheckpoint | None, new: StoredCheckpoint, channel: str) -> StoredValue | None:
    """Returns the parent's value of a channel if it has the same version; None: it has another one, or none."""
    if parent is None or channel not in parent.versions:
        return None
    is_same = parent.versions[channel] == new.versions.get(channel)
    return parent.values.get(channel) if is_same else None


class WantedCheckpoints:
    """Which checkpoints a list has."""

    def __init__(
        self,
        config: RunnableConfig | None,
        before: RunnableConfig | None,
        metadata: Mapping[str, Any] | None,
        writer: ValueWriter,
    ) -> None:
        self._namespace = None if config is None else _configurable(config).get("checkpoint_ns")
        self._id = None if config is None else get_checkpoint_id(config)
        self._before = None if before is None else get_checkpoint_id(before)
        self._metadata: JsonMapping = {name: writer.field(member) for name, member in (metadata or {}).items()}

    def has(self, checkpoint: StoredCheckpoint) -> bool:
        """Whether the list has this one."""
        return (
            self._namespace in (None, checkpoint.namespace)
            and (not self._id or self._id == checkpoint.id)
            and (not self._before or checkpoint.id < self._before)
            and all(checkpoint.metadata.get(name) == value for name, value in self._metadata.items())
        )


def _configurable(config: RunnableConfig) -> Mapping[str, Any]:
    return config.get("configurable") or {}
