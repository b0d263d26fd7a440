"""loading → [delivery] → senders.  Sends requests to a destination; finds the item because of which one is refused.

accepted            all items are delivered
refused             both halves are sent separately, until the items that are refused alone are found: dead letters
broken              like refused, if it has happened often to the same items, and other items are accepted
away, misconfigured nothing more is sent for now
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from playhead.outbound.answers import Verdict
from playhead_collector.forward.attempts import Answer
from playhead_collector.forward.senders import Sender, Signal
from playhead_collector.store.ports.outbox import OutboxEntry

# So many failures in a row, with nothing accepted between them, mean that the destination itself has failed.
_BROKEN_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class OutgoingItem:
    """A span or log event, encoded as an OTLP request of its own.

    Bodies of several items are concatenated into one request: that is how protobuf merges messages. `signal` is the
    kind of the stored item with this key; the item is sent as a span also when the call was recorded as log records.
    """

    entry: OutboxEntry
    signal: Signal
    key: bytes
    body: bytes = field(repr=False)


@dataclass(slots=True)
class Delivered:
    """Result of a delivery. `stopped` is the answer after which nothing more was sent; the other items remain."""

    accepted: list[OutgoingItem] = field(default_factory=list[OutgoingItem])
    dead: list[tuple[OutgoingItem, str]] = field(default_factory=list[tuple[OutgoingItem, str]])
    stopped: Answer | None = None
    last_refusal: str | None = None


class BatchDelivery:
    """Sends items to one destination. `before` is awaited before each request."""

    def __init__(self, sender: Sender, before: Callable[[], Awaitable[None]]) -> None:
        self._sender = sender
        self._before = before
        self.requests = 0

    async def deliver(
        self, signal: Signal, items: Sequence[OutgoingItem], *, may_be_at_fault: bool = False, is_at_fault: bool = False
    ) -> Delivered:
        """Sends the items, in their order unless some are refused. `may_be_at_fault`: if the destination fails, these
        items are taken for the cause, provided that it accepts others of them. `is_at_fault`: also if it accepts none
        of them."""
        done = Delivered()
        parts, held, broken = [items], list[tuple[OutgoingItem, str]](), 0
        failed: Answer | None = None
        while parts:
            part = parts.pop()
            answer = await self._send(signal, part)
            refused = answer.verdict is Verdict.REFUSED
            if answer.verdict is Verdict.ACCEPTED:
                _accept(part, answer, done)
                broken = 0
            elif answer.verdict is Verdict.BROKEN and may_be_at_fault and broken < _BROKEN_IN_A_ROW:
                broken, failed = broken + 1, answer
                if len(part) == 1:
                    held.append((part[0], answer.reason))
                else:
                    parts += _halves(part)
            elif refused:
                done.last_refusal = answer.reason
                if len(part) == 1:
                    done.dead.append((part[0], answer.reason))
                else:
                    parts += _halves(part)
            else:
                done.stopped = answer
                break
        if held and (done.accepted or is_at_fault):
            done.dead += held
        elif held and done.stopped is None:
            done.stopped = failed
        return done

    async def _send(self, signal: Signal, part: Sequence[OutgoingItem]) -> Answer:
        await self._before()
        self.requests += 1
        return await self._sender.send(signal, b"".join(item.body for item in part))


def _halves(part: Sequence[OutgoingItem]) -> list[Sequence[OutgoingItem]]:
    """Returns the two halves, the first one last, so that it is sent next."""
    middle = len(part) // 2
    return [part[middle:], part[:middle]]


def _accept(part: Sequence[OutgoingItem], answer: Answer, done: Delivered) -> None:
    if not answer.rejected:
        done.accepted += part
        return
    # OTLP forbids to send a partly rejected request again, and does not say which items were rejected: all become dead
    # letters.
    done.last_refusal = f"{answer.rejected} of {len(part)} were rejected: {answer.reason or 'no reason was given'}"
    done.dead += [(item, done.last_refusal) for item in part]
