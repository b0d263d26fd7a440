"""Who sends gRPC messages, and which senders were slow: those wait for others."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Final

# How long a slow message counts against its sender, and the number of senders that are remembered.
_REMEMBERED_SECONDS: Final = 60.0
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class MessageSender:
    """A connection and the address that it comes from."""

    host: str
    connection: str

    @classmethod
    def of(cls, peer: str) -> "MessageSender":
        """`peer` as gRPC gives it: `ipv4:127.0.0.1:50000`, `ipv6:%5B::1%5D:50000`."""
        host, _, _ = peer.rpartition(":")
        return cls(host or peer, peer)


@dataclass(slots=True)
class SlowSenders:
    """What is remembered of senders whose messages arrived slowly; only of the last 10,000, for a minute."""

    _late: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)
    _gave_way: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)

    def is_late(self, sender: MessageSender) -> bool:
        """Whether the last message of this connection took longer than a quick turn."""
        return _is_marked(self._late, sender.connection)

    def rank(self, sender: MessageSender) -> int:
        """0: others come after it. 1: another connection from its address was stopped for being slow; 2: it was."""
        return _is_marked(self._gave_way, sender.connection) + _is_marked(self._gave_way, sender.host)

    def took_long(self, sender: MessageSender) -> None:
        """Its message took longer than a quick turn."""
        _mark(self._late, sender.connection)

    def was_stopped(self, sender: MessageSender) -> None:
        """Its message was refused because it arrived too slowly."""
        _mark(self._gave_way, sender.connection)
        _mark(self._gave_way, sender.host)

    def completed(self, sender: MessageSender, *, quickly: bool) -> None:
        """Its message arrived."""
        self._gave_way.pop(sender.connection, None)
        if quickly:
            self._late.pop(sender.connection, None)


def _mark(marks: dict[str, float], key: str) -> None:
    marks.pop(key, None)  # the newest last
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
