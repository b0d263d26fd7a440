"""Suspects take time in proportion to the number of steps.  Work is counted: the machine's load does not matter."""

from playhead_collector.analysis.suspects.findings import run_steps
from playhead_collector.analysis.suspects.suspects import find_all, rank
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.analysis.transcript.transcript import Transcript
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore
from tests.support.work import work_of
from tests.unit.analysis.suspects.test_findings import OFFERS, OTHER, POLICY, TOOLS

FEW, TIMES = 10, 4
# Linear work takes 4 times as much, quadratic work 16 times.
MOST = 1.5 * TIMES


async def conversation(rounds: int, run: str = RUN, offer: str = "OF1001") -> Transcript:
    """Three steps in each round, with what most of the rules look at."""
    chat = Chat(FakeStore(), POLICY, run=run, tools=TOOLS)
    for number in range(rounds):
        order = {"order_id": f"W{number:05}", "status": "open", "created_at": "2026-05-02T06:02:08", "total": number}
        chat.user(f"What about my order W{number:05}?")
        chat.asks("get_order", {"order_id": f"W{number:05}"}, order)
        chat.asks("list_offers", {"page": number}, OFFERS)
        chat.says(f"I cannot find more. ${number + 50} is not more than ${number}. Shall I take {offer}?")
        chat.user("Yes, please")
        chat.asks(
            "update_order", {"order_id": f"W{number + 1:05}", "offer": offer}, "ok", error="" if number % 3 else "x"
        )
    return await read_transcript(chat.done())


async def test_four_times_as_many_steps_take_four_times_the_work():
    took: list[int] = []
    found: list[int] = []
    for rounds in (FEW, TIMES * FEW):
        transcript = await conversation(rounds)
        siblings = [await conversation(rounds, OTHER, offer="OF1002")]

        def ranked(transcript: Transcript = transcript, siblings: list[Transcript] = siblings) -> None:
            steps = run_steps(transcript)
            found.append(len(rank(steps, find_all(steps, [run_steps(each) for each in siblings]))))

        took.append(work_of(ranked))
    assert found[0] >= FEW
    assert found[1] >= TIMES * FEW
    assert took[1] < MOST * took[0], took
