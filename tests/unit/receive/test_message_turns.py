"""Who may send a gRPC message when more want to than may: by what is remembered of the senders."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from playhead_collector.errors import Refused
from playhead_collector.receive.grpc_turns import MessageSender, MessageTurns, SlowSenderMemory

_PORTS = count(1)


def turns(**given: Any) -> MessageTurns:
    """With one turn of each kind, and no limit of time, where nothing else is given."""
    unlimited = {"body_seconds": 3600, "wait_seconds": 3600, "slow_after_seconds": 3600}
    return MessageTurns(**{**unlimited, "max_waiting": 4, "long_turns": 1, "quick_turns": 1, **given})


def sender(host: str = "ipv4:10.0.0.1") -> MessageSender:
    return MessageSender.of(f"{host}:{next(_PORTS)}")


class Message:
    """A message that arrives when it is told to."""

    def __init__(self, to: MessageTurns, by: MessageSender) -> None:
        self.begun, self.arrives = asyncio.Event(), asyncio.Event()
        self.read = asyncio.create_task(to.read(self._arrive, by))

    async def _arrive(self) -> str:
        self.begun.set()
        await self.arrives.wait()
        return "arrived"

    async def complete(self) -> str:
        self.arrives.set()
        return await self.read


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


def test_a_sender_is_a_connection_and_its_address():
    assert MessageSender.of("ipv6:%5B::1%5D:1234") == MessageSender("ipv6:%5B::1%5D", "ipv6:%5B::1%5D:1234")
    assert MessageSender.of("unix:") == MessageSender("unix", "unix:")
    assert MessageSender.of("other") == MessageSender("other", "other")


async def test_a_message_waits_for_its_turn_and_one_too_many_is_refused():
    to = turns(max_waiting=1, quick_seconds=60)
    first, second, third = (Message(to, sender(f"ipv4:10.0.0.{number}")) for number in range(3))
    with pytest.raises(Refused, match="2 messages are on their way") as refused:
        await third.read
    assert refused.value.status == 503
    assert not second.begun.is_set()
    assert (to.reading, to.waiting) == (1, 1)
    assert [await first.complete(), await second.complete()] == ["arrived"] * 2
    assert (to.reading, to.waiting) == (0, 0)


async def test_a_message_that_gets_no_turn_in_time_is_refused():
    to = turns(quick_seconds=60, wait_seconds=0.01)
    first, second = Message(to, sender()), Message(to, sender())
    with pytest.raises(Refused, match="send it again"):
        await second.read
    assert await first.complete() == "arrived"


async def test_a_message_that_takes_longer_gets_a_long_turn_and_leaves_the_quick_one():
    to = turns(quick_seconds=0.001)
    slow = Message(to, sender())
    await until(lambda: to.long.running)
    assert not to.quick.running
    assert await Message(to, sender()).complete() == "arrived"
    assert await slow.complete() == "arrived"


async def test_without_a_long_turn_it_is_refused():
    to = turns(quick_seconds=0.001)
    first = Message(to, sender())
    await until(lambda: to.long.running)
    with pytest.raises(Refused, match="arrives slowly"):
        await Message(to, sender()).read
    assert await first.complete() == "arrived"


async def test_a_sender_that_took_long_waits_for_a_long_turn_until_a_message_of_it_was_quick():
    to = turns(quick_seconds=0.001)
    one, other = sender(), sender()
    first = Message(to, one)
    await until(lambda: to.long.running)
    to.slow.took_long(other)
    to.quick_seconds = 60
    waiting = Message(to, other)
    await settled()
    assert (to.long.waiting, to.quick.waiting, to.reading) == (1, 0, 1)
    await first.complete()
    await waiting.complete()
    assert not to.slow.was_slow(other)


async def test_a_long_turn_is_taken_from_a_sender_that_had_turn_in_vain_before():
    to = turns(quick_seconds=0.001)
    bad, good = sender("ipv4:10.0.0.1"), sender("ipv4:10.0.0.2")
    to.slow.had_turn_in_vain(bad)
    slow = Message(to, bad)
    await until(lambda: to.long.running)
    late = Message(to, good)
    with pytest.raises(Refused, match="others wait and this message arrives slowly"):
        await slow.read
    with pytest.raises(Refused, match="arrives slowly"):  # it does not get the turn back from one that was not stopped
        await Message(to, sender("ipv4:10.0.0.1")).read
    assert await late.complete() == "arrived"


async def test_a_long_turn_is_taken_from_an_equal_after_the_time_that_is_normal():
    to = turns(quick_seconds=0.001, slow_after_seconds=0)
    first = Message(to, sender())
    await until(lambda: to.long.running)
    second = Message(to, sender())
    with pytest.raises(Refused, match="arrives slowly"):
        await first.read
    assert await second.complete() == "arrived"


async def test_turns_go_to_the_sender_that_has_fewest_and_was_not_slow():
    to = turns(quick_turns=2, quick_seconds=60, max_waiting=10)
    greedy, slow, other = sender("ipv4:10.0.0.1"), sender("ipv4:10.0.0.2"), sender("ipv4:10.0.0.3")
    to.slow.had_turn_in_vain(slow)
    running = [Message(to, greedy), Message(to, greedy)]
    third, from_slow, from_other = Message(to, greedy), Message(to, slow), Message(to, other)
    await settled()
    await running[0].complete()
    await settled()
    assert (third.begun.is_set(), from_slow.begun.is_set(), from_other.begun.is_set()) == (False, False, True)
    await running[1].complete()
    await settled()
    assert (third.begun.is_set(), from_slow.begun.is_set()) == (True, False)
    for each in (from_other, third, from_slow):
        assert await each.complete() == "arrived"


async def test_when_too_many_wait_the_sender_with_the_most_is_refused():
    to = turns(quick_seconds=60, max_waiting=2)
    greedy, other = sender("ipv4:10.0.0.1"), sender("ipv4:10.0.0.2")
    first, second, third = (Message(to, greedy) for _ in range(3))
    await settled()
    honest = Message(to, other)
    with pytest.raises(Refused, match="on their way"):
        await third.read
    for each in (first, second, honest):
        assert await each.complete() == "arrived"


async def test_a_sender_that_leaves_while_it_waits_or_has_a_turn_leaves_nothing():
    to = turns(quick_seconds=60)
    first, second, third = (Message(to, sender()) for _ in range(3))
    await settled()
    for each in (second, first):
        each.read.cancel()
        await asyncio.wait([each.read])
    assert await third.complete() == "arrived"
    assert (to.reading, to.waiting) == (0, 0)


async def test_a_turn_that_was_given_to_a_sender_that_leaves_goes_to_the_next():
    to = turns(quick_seconds=60)
    first, second, third = (Message(to, sender()) for _ in range(3))
    await settled()
    first.arrives.set()
    await asyncio.wait([first.read])
    second.read.cancel()  # it has the turn and does not know it yet
    await asyncio.wait([second.read])
    assert await third.complete() == "arrived"
    assert (to.reading, to.waiting) == (0, 0)


async def test_calls_that_are_cancelled_count_against_their_connection_and_its_address():
    to = turns(quick_seconds=60)
    reading, waiting, neighbour, other = sender(), sender(), sender(), sender("ipv4:10.0.0.2")
    first = Message(to, reading)
    await first.begun.wait()
    second = Message(to, waiting)
    await settled()
    for each in (second, first):
        each.read.cancel()
        await asyncio.wait([each.read])
    assert [to.slow.penalty(each) for each in (reading, waiting, neighbour, other)] == [2, 2, 1, 0]


async def test_a_connection_whose_messages_arrive_does_not_pay_for_others_at_its_address():
    to = turns(quick_turns=1, quick_seconds=60, max_waiting=2)
    honest, cancelling = sender(), [sender() for _ in range(3)]
    assert await Message(to, honest).complete() == "arrived"
    for each in cancelling:
        message = Message(to, each)
        await message.begun.wait()
        message.read.cancel()
        await asyncio.wait([message.read])
    crowd = [Message(to, each) for each in cancelling]  # one is read, two wait
    await settled()
    last = Message(to, honest)
    with pytest.raises(Refused, match="on their way"):
        await crowd[2].read
    await crowd[0].complete()
    await last.begun.wait()
    assert not crowd[1].begun.is_set()
    assert [await last.complete(), await crowd[1].complete()] == ["arrived"] * 2


async def test_a_call_without_a_message_counts_as_one_that_was_cancelled():
    async def nothing() -> str:
        raise Refused(400, "no_message", "the call ended without a message")

    to, one = turns(), sender()
    with pytest.raises(Refused, match="without a message"):
        await to.read(nothing, one)
    assert to.slow.penalty(one) == 2
    assert await Message(to, one).complete() == "arrived"
    assert to.slow.penalty(one) == 0


def test_only_the_last_slow_senders_are_remembered():
    slow = SlowSenderMemory()
    first = MessageSender("h", "first")
    slow.took_long(first)
    for number in range(10_000):
        slow.took_long(MessageSender("h", str(number)))
    assert not slow.was_slow(first)
    assert slow.was_slow(MessageSender("h", "9999"))
