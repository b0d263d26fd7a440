"""Identifies senders of gRPC messages, and remembers slow ones and those that gave up: they wait for others."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Final

# Seconds for which a slow message counts against its sender; and the number of senders that are remembered.
_REMEMBERED_SECONDS: Final = 60.0
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class MessageSender:
    """A client's connection, and the address of the client."""

    host: str
    connection: str

    @classmethod
    def of(cls, peer: str) -> "MessageSender":
        """Returns the sender for gRPC's `peer`: `ipv4:127.0.0.1:50000`, `ipv6:%5B::1%5D:50000`."""
        host, _, _ = peer.rpartition(":")
        return cls(host or peer, peer)


@dataclass(slots=True)
class SlowSenders:
    """Remembers which senders' messages arrived, arrived slowly or never arrived: the last 10,000 of each kind, for a
    minute."""

    _late: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)
    _in_vain: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)
    _proven: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)

    def is_late(self, sender: MessageSender) -> bool:
        """Whether the last message of this connection took longer than a quick turn."""
        return _is_marked(self._late, sender.connection)

    def rank(self, sender: MessageSender) -> int:
        """Returns the sender's rank; lower ranks come first. 0: normal. 1: a turn of its address was in vain, and no
        message of this connection has arrived yet. 2: the last turn of this connection was in vain."""
        if _is_marked(self._in_vain, sender.connection):
            return 2
        return int(_is_marked(self._in_vain, sender.host) and not _is_marked(self._proven, sender.connection))

    def took_long(self, sender: MessageSender) -> None:
        """Notes that a message took longer than a quick turn."""
        _mark(self._late, sender.connection)

    def had_turn_in_vain(self, sender: MessageSender) -> None:
        """Notes that a message arrived too slowly and was refused, or never arrived because the call was cancelled."""
        _mark(self._in_vain, sender.connection)
        _mark(self._in_vain, sender.host)

    def completed(self, sender: MessageSender, *, quickly: bool) -> None:
        """Notes that a message arrived."""
        self._in_vain.pop(sender.connection, None)
        _mark(self._proven, sender.connection)
        if quickly:
            self._late.pop(sender.connection, None)


def _mark(marks: dict[str, float], key: str) -> None:
    marks.pop(key, None)  # moves the key to the end: the oldest is first
    marks[key] = monotonic() + _REMEMBERED_SECONDS
    if len(marks) > _MOST:
        del marks[next(iter(marks))]


def _is_marked(marks: dict[str, float], key: str) -> bool:
    until = marks.get(key)
    if until is None:
        return False
    if until < monotonic():
        del marks[key]
        return False
    return True
