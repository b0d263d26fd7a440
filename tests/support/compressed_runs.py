"""Small runs, labelled by hand: one per way in which a context can shrink, or only seem to.

Each is a list of calls (what the model was given, what it answered) and what is to be found: the compressions, what
became of the messages, which facts were lost and how they were needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model.message import Message, text_message

SYSTEM = text_message("system", "You help customers of a shop with their orders.")


def user(text: str) -> Message:
    return text_message("user", text)


def agent(text: str) -> Message:
    return text_message("assistant", text)


def calls(call: str, name: str, **arguments: Any) -> Message:
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": name, "arguments": arguments}]}


def gives(call: str, response: Any) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": response}]}


@dataclass(frozen=True)
class Call:
    """`answer` is None for a call that failed."""

    given: Sequence[Message]
    answer: Message | None
    agent: str = "support"
    tokens: int | None = None
    runs: Any = None  # what the tool that the answer asks for returns; None: it is not run
    tools: Sequence[str] = ()
    declares: dict[str, Any] | None = None  # before, after, summary, strategy: said just before the call


@dataclass(frozen=True)
class Expected:
    """A compression that shows at the call of this number; messages by their text or tool."""

    call: int
    strategy: str
    summarised: Sequence[Message] = ()
    dropped: Sequence[Message] = ()
    summary: Message | None = None
    origin: str = "inferred"
    summariser: int | None = None  # the number of the call that wrote the summary
    lost: Sequence[str] = ()
    needed: Sequence[tuple[str, str]] = ()  # fact, how


@dataclass(frozen=True)
class LabelledRun:
    name: str
    calls: Sequence[Call]
    expected: Sequence[Expected] = field(default_factory=list)


HELLO = user("Hello, I'm Maria Lopez. My order number is W2378156, bought on May 3rd.")
WHICH = agent("Thank you. What is wrong with it?")
LAMP = user("The desk lamp has a crack. My account is 77812345.")
LOOK = calls("c1", "get_order", order_id="W2378156")
ORDER = gives("c1", {"order_id": "W2378156", "item": "Desk Lamp", "item_id": "LMP-4471", "price": 15.5})
FOUND = agent("I found it. Shall I send a new one to your address?")
YES = user("Yes please, to 12 Harbour Street.")
PLACE = calls("c2", "get_address", street="12 Harbour Street")
KNOWN = gives("c2", {"zip": "90417"})
SENT = agent("It is on its way.")
START = [SYSTEM, HELLO, WHICH, LAMP]
LONG = [*START, LOOK, ORDER, FOUND, YES]

SUMMARY = user(
    "Summary of the conversation so far: Maria Lopez has a broken desk lamp from May 3rd and wants a new one."
)


def summed_up() -> LabelledRun:
    """Old messages gave way to a summary; the agent has to ask for the account again, and makes up an item."""
    short = [SYSTEM, SUMMARY, FOUND, YES]
    wrong = calls("c3", "send_item", item_id="LMP-9999", street="12 Harbour Street")
    failed = gives("c3", "Error: no such item")
    asks = agent("Could you tell me your account again?")
    says = user("It is 77812345.")
    return LabelledRun(
        "summed_up",
        [
            Call(LONG[:-2], FOUND, tokens=900),
            Call(short, wrong, tokens=300),
            Call([*short, wrong, failed], asks, tokens=340),
            Call([*short, wrong, failed, asks, says], SENT, tokens=380),
        ],
        [
            Expected(
                call=1,
                strategy="summary",
                summarised=[HELLO, WHICH, LAMP, LOOK, ORDER],
                summary=SUMMARY,
                lost=["W2378156", "77812345", "LMP-4471", "15.5"],
                needed=[("77812345", "asked_again"), ("LMP-4471", "wrong_value")],
            )
        ],
    )  # fmt: skip


def summed_up_by_a_call() -> LabelledRun:
    """A call of its own wrote the summary; nothing in it says that it is one, and what it stands for is all."""
    wants = user("Write a summary of our conversation: who, what, and what is still to be done.")
    wrote = agent(
        "Maria Lopez reported a cracked lamp, account 77812345; a new one is to be sent to 12 Harbour Street."
    )
    brief = user("What happened before: " + wrote["parts"][0]["content"])
    goes_on = user("When will it come?")
    return LabelledRun(
        "summed_up_by_a_call",
        [
            Call(LONG, SENT),
            Call([*LONG, SENT, wants], wrote),
            Call([SYSTEM, brief, goes_on], agent("Tomorrow.")),
        ],
        [
            Expected(
                call=2,
                strategy="summary",
                summarised=[*LONG[1:], SENT],
                summary=brief,
                summariser=1,
                lost=["W2378156", "May 3rd", "LMP-4471"],
            )
        ],
    )


def declared() -> LabelledRun:
    """The program says what it did; that the next call shows it, too, is not told twice."""
    short = [SYSTEM, SUMMARY, FOUND]
    return LabelledRun(
        "declared",
        [
            Call(LONG[:-2], FOUND),
            Call(
                [*short, YES],
                SENT,
                declares={"before": LONG[:-1], "after": short, "summary": SUMMARY, "strategy": "llm_summary"},
            ),
        ],
        [
            Expected(
                call=1,
                strategy="llm_summary",
                origin="declared",
                summarised=[HELLO, WHICH, LAMP, LOOK, ORDER],
                summary=SUMMARY,
                lost=["W2378156", "77812345"],
            )
        ],
    )


def window() -> LabelledRun:
    """Only the last messages are sent; the order is looked up again, and told of."""
    again = calls("c9", "get_order", order_id="W2378156")
    order = gives("c9", ORDER["parts"][0]["response"])
    tail = [SYSTEM, FOUND, YES, PLACE, KNOWN]
    return LabelledRun(
        "window",
        [
            Call([*LONG], PLACE),
            Call(tail, again),
            Call([SYSTEM, YES, PLACE, KNOWN, again, order], agent("LMP-4471 is on its way.")),
        ],
        [
            Expected(
                call=1,
                strategy="sliding_window",
                dropped=LONG[1:-2],
                lost=["Maria Lopez", "W2378156", "LMP-4471", "77812345"],
                needed=[("LMP-4471", "looked_up_again"), ("W2378156", "used")],
            ),
            Expected(call=2, strategy="sliding_window", dropped=[FOUND]),
        ],
    )


def masked() -> LabelledRun:
    """An old result of a tool was replaced by a note."""
    note = gives("c1", "[old result cleared]")
    return LabelledRun(
        "masked",
        [Call(LONG, PLACE), Call([*START, LOOK, note, FOUND, YES, PLACE, KNOWN], SENT)],
        [Expected(call=1, strategy="tool_result_masking", dropped=[ORDER], lost=["LMP-4471", "15.5"])],
    )


def masked_before_a_retry() -> LabelledRun:
    """The last results were too long; the call is made again with less of them."""
    note = gives("c1", "[result too long]")
    return LabelledRun(
        "masked_before_a_retry",
        [Call([*START, LOOK, ORDER], None), Call([*START, LOOK, note], FOUND)],
        [Expected(call=1, strategy="tool_result_masking", dropped=[ORDER], lost=["LMP-4471"])],
    )


def results_dropped() -> LabelledRun:
    """Calls and results went from here and there; what was said stayed."""
    talk = [SYSTEM, HELLO, LOOK, ORDER, FOUND, YES, PLACE, KNOWN, SENT, user("Thanks. And when?")]
    rest = [message for message in talk if message not in (LOOK, ORDER, PLACE, KNOWN)]
    return LabelledRun(
        "results_dropped",
        [Call(talk, agent("On Friday.")), Call([*rest, agent("On Friday."), user("Good.")], agent("Bye."))],
        [
            Expected(
                call=1, strategy="dropped_tool_results", dropped=[LOOK, ORDER, PLACE, KNOWN], lost=["LMP-4471", "90417"]
            )
        ],
    )


def edited() -> LabelledRun:
    """One message says something else now, and the conversation goes on."""
    corrected = user("The desk lamp has a crack. My account is [redacted].")
    return LabelledRun(
        "edited",
        [Call(LONG, PLACE), Call([SYSTEM, HELLO, WHICH, corrected, *LONG[4:], PLACE, KNOWN], SENT)],
        [Expected(call=1, strategy="edit", dropped=[LAMP], lost=["77812345"])],
    )


def masked_and_summed_up() -> LabelledRun:
    """What is old was summed up, and a result in what was kept was masked."""
    note = gives("c2", "[cleared]")
    talk = [*LONG, PLACE, KNOWN]
    bye = [SENT, user("Thanks.")]
    return LabelledRun(
        "masked_and_summed_up",
        [Call(talk, SENT), Call([SYSTEM, SUMMARY, FOUND, YES, PLACE, note, *bye], agent("Bye."))],
        [
            Expected(
                call=1,
                strategy="hybrid",
                summarised=[HELLO, WHICH, LAMP, LOOK, ORDER],
                dropped=[KNOWN],
                summary=SUMMARY,
                lost=["90417"],
            )
        ],
    )


def begun_anew() -> LabelledRun:
    """Another customer: nothing was compressed."""
    other = [SYSTEM, user("Hi, where is my parcel A77?")]
    return LabelledRun(
        "begun_anew", [Call(LONG, PLACE), Call(other, WHICH), Call([*other, WHICH, user("It is late.")], SENT)]
    )


def gone_back() -> LabelledRun:
    """The user changed the last question and asked again, then went on where the first answer was."""
    other = [*START[:-1], user("Nothing, thanks.")]
    return LabelledRun("gone_back", [Call(START, FOUND), Call(other, SENT), Call([*START, FOUND, YES], SENT)])


def with_examples() -> LabelledRun:
    """The same examples each time, another question at the end, and a reminder after it."""
    shots = [SYSTEM, user("I love it"), agent("positive"), user("It broke"), agent("negative")]
    reminder = user("Answer with one word.")
    asked = ["Works well", "Too small", "Never again", "As described"]
    return LabelledRun("with_examples", [Call([*shots, user(text), reminder], agent("positive")) for text in asked])


def sub_agent() -> LabelledRun:
    """Another agent was given a part of the conversation, and so was the same one for a side question."""
    return LabelledRun(
        "sub_agent",
        [
            Call(LONG, PLACE),
            Call([SYSTEM, LAMP], agent("A crack."), agent="inspector"),
            Call([SYSTEM, YES], agent("An address.")),
            Call([*LONG, PLACE, KNOWN], SENT),
        ],
    )


def other_instructions() -> LabelledRun:
    """The system message says what time it is."""
    at = [text_message("system", f"You help customers. It is {hour}:00.") for hour in (9, 10)]
    return LabelledRun("other_instructions", [Call([at[0], HELLO], WHICH), Call([at[1], HELLO, WHICH, LAMP], FOUND)])


def passing_view() -> LabelledRun:
    """Every call ends with how the screen looks, which is kept for that call only."""
    views = [user(f"Screen: page {number} of the order form") for number in (1, 2, 3)]
    clicks = [calls(f"c{number}", "click", at=number) for number in (1, 2, 3)]
    done = [gives(f"c{number}", "ok") for number in (1, 2)]
    return LabelledRun(
        "passing_view",
        [
            Call([SYSTEM, HELLO, views[0]], clicks[0]),
            Call([SYSTEM, HELLO, clicks[0], done[0], views[1]], clicks[1]),
            Call([SYSTEM, HELLO, clicks[0], done[0], clicks[1], done[1], views[2]], clicks[2]),
        ],
    )


def summarising_call() -> LabelledRun:
    """A call that is asked for a summary is none, whatever its words."""
    wants = user("Summarize the conversation below in one sentence.\nMaria: The lamp W2378156 has a crack.")
    brief = Call([SYSTEM, wants], agent("A cracked lamp."))
    return LabelledRun("summarising_call", [Call(LONG, PLACE), brief, Call([*LONG, PLACE, KNOWN], SENT)])


RUNS = [
    make()
    for make in (
        *(summed_up, summed_up_by_a_call, declared, window, masked, masked_before_a_retry, results_dropped, edited),
        *(masked_and_summed_up, begun_anew, gone_back, with_examples, sub_agent, other_instructions, passing_view),
        summarising_call,
    )
]
