"""Forms in which programs and frameworks shorten a conversation, and calls that only look like it.

Each form is the list of messages that follows the same conversation.  `replaced` forms have a text in the place of what
went; each is tried without a call that wrote the text, and with each kind of such a call (`SUMMARISERS`).  Named after
the frameworks whose lists have this shape; the texts are made up.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from playhead.model.message import Message, text_message
from tests.support.compressed_runs import (
    FOUND,
    HELLO,
    KNOWN,
    LAMP,
    LONG,
    LOOK,
    ORDER,
    PLACE,
    SENT,
    START,
    SYSTEM,
    YES,
    Call,
    Expected,
    LabelledRun,
    agent,
    calls,
    gives,
    user,
)

TALK = [*LONG, PLACE, KNOWN, SENT]
HISTORY = [
    Call(START, LOOK, tokens=120),
    Call([*START, LOOK, ORDER], FOUND, tokens=160),
    Call(LONG, PLACE, tokens=190),
    Call([*LONG, PLACE, KNOWN], SENT, tokens=220),
]
TEXT = (
    "Maria Lopez reported a cracked Desk Lamp, item LMP-4471, which cost 15.5. Account 77812345. A new one was sent to "
    "12 Harbour Street, zip 90417. Nothing else is open."
)
NEXT = user("When will it come?")


def system(text: str) -> Message:
    return text_message("system", text)


RULES = SYSTEM["parts"][0]["content"]
OTHER = system("You condense dialogues. Keep names and numbers.")


@dataclass(frozen=True)
class Form:
    """`after` makes the next call's list from the text of the summary. `summary`: the position of the message that
    stands for the removed ones; None: there is none.  `history`: the conversation before; its last call is the one
    whose list was shortened."""

    name: str
    after: Callable[[str], Sequence[Message]]
    strategy: str = "summary"
    summary: int | None = 1
    history: Sequence[Call] = tuple(HISTORY)


FLIGHT = HISTORY[:3]  # the last answer asks for a tool

# Forms with a text in the place of what went.
REPLACED = [
    Form("own_words", lambda text: [SYSTEM, user(text), NEXT]),
    Form("own_words_alone", lambda text: [SYSTEM, user(text)]),
    Form("own_words_of_the_assistant", lambda text: [SYSTEM, agent(text), NEXT]),
    Form("says_summary", lambda text: [SYSTEM, user(f"Summary of the conversation so far: {text}"), NEXT]),
    Form("assistants_summary", lambda text: [SYSTEM, agent(f"Summary: {text}"), NEXT]),
    Form("first_user_and_summary", lambda text: [SYSTEM, HELLO, user(text)], summary=2),
    Form("roo_code", lambda text: [SYSTEM, HELLO, agent(text), NEXT], summary=2),
    Form("after_the_system_text", lambda text: [system(f"{RULES}\n\n# So far\n{text}"), NEXT], summary=0),
    Form("system_text_and_recent", lambda text: [system(f"{RULES}\n\n# So far\n{text}"), SENT, NEXT], summary=0),
    Form("second_system_message", lambda text: [SYSTEM, system(f"Summary of the talk: {text}"), SENT, NEXT]),
    Form(
        "codex",
        lambda text: [
            SYSTEM,
            HELLO,
            LAMP,
            YES,
            user(f"A different model began this task and left notes on what it did. Build on them: {text}"),
        ],
        summary=4,
    ),
    Form(
        "codex_with_next", lambda text: [SYSTEM, HELLO, LAMP, YES, user(f"Notes on the work: {text}"), NEXT], summary=4
    ),
    Form(
        "langchain_middleware",
        lambda text: [SYSTEM, user(f"A summary of the conversation up to now:\n\n{text}"), PLACE, KNOWN, SENT, NEXT],
    ),
    Form(
        "langmem", lambda text: [SYSTEM, system(f"Summary of what was said so far: {text}"), PLACE, KNOWN, SENT, NEXT]
    ),
    Form("langgraph_prefix", lambda text: [system(f"Summary of conversation earlier: {text}"), SENT, NEXT], summary=0),
    Form(
        "claude_code",
        lambda text: [
            SYSTEM,
            user(
                f"We continue a session whose context was full. The earlier conversation, summarized:\n{text}\nGo on."
            ),
        ],
    ),
    Form("anthropic_tool_runner", lambda text: [user(f"<summary>\n{text}\n</summary>")], summary=0),
    Form(
        "openhands",
        lambda text: [SYSTEM, HELLO, user(f"<STATE>\n{text}\n</STATE>"), PLACE, KNOWN, SENT, NEXT],
        summary=2,
    ),
    Form(
        "gemini_cli",
        lambda text: [
            SYSTEM,
            user(f"<state_snapshot>{text}</state_snapshot>"),
            agent("Understood, thank you."),
            SENT,
            NEXT,
        ],
    ),
    Form("google_adk", lambda text: [SYSTEM, agent(text), SENT, NEXT]),
    Form("semantic_kernel", lambda text: [SYSTEM, agent(text), YES, PLACE, KNOWN, SENT, NEXT]),
    Form("llama_index", lambda text: [SYSTEM, system(text), YES, PLACE, KNOWN, SENT, NEXT]),
    Form("strands", lambda text: [user(text), PLACE, KNOWN, SENT, NEXT], summary=0),
    Form("crewai", lambda text: [user(f"Our conversation so far, in summary:\n{text}")], summary=0),
    Form(
        "letta",
        lambda text: [
            SYSTEM,
            user(
                json.dumps(
                    {
                        "type": "system_alert",
                        "message": f"10 of 11 prior messages are hidden. A summary of them: {text}",
                    }
                )
            ),
            SENT,
            NEXT,
        ],
    ),
    Form("aider", lambda text: [SYSTEM, user(f"We spoke before, about several things.\n{text}"), agent("Ok."), NEXT]),
    Form("opencode", lambda text: [SYSTEM, user("What have we done until now?"), agent(text), NEXT], summary=2),
    Form("with_a_clock", lambda text: [system(f"{RULES} It is 10:00."), user(text), NEXT]),
    Form("tools_in_flight", lambda text: [SYSTEM, user(text), PLACE, KNOWN], history=FLIGHT),
    Form("result_in_flight", lambda text: [SYSTEM, user(text), KNOWN], history=FLIGHT),
    Form("call_in_flight_summed_up", lambda text: [SYSTEM, user(text)], history=FLIGHT),
    Form("last_question_again", lambda text: [SYSTEM, user(text), YES], history=FLIGHT),
]

# Forms without such a text.
SHORTENED = [
    Form("autogen_buffer", lambda _: [SYSTEM, KNOWN, SENT, NEXT], "sliding_window", None),
    Form("trim_messages", lambda _: [SYSTEM, YES, PLACE, KNOWN, SENT, NEXT], "sliding_window", None),
    Form("window_without_the_answer", lambda _: [SYSTEM, FOUND, YES, PLACE, KNOWN], "sliding_window", None),
    Form(
        "autogen_head_and_tail",
        lambda _: [SYSTEM, HELLO, user("Skipped 7 messages."), KNOWN, SENT, NEXT],
        "sliding_window",
        None,
    ),
    Form("only_users_words", lambda _: [SYSTEM, HELLO, LAMP, YES, SENT, NEXT], "selection", None),
    Form(
        "only_users_words_no_answer",
        lambda _: [SYSTEM, HELLO, LAMP, YES, NEXT],
        "unknown",
        None,
        history=[*HISTORY[:2], Call(LONG, SENT)],
    ),
    Form("users_words_and_a_result", lambda _: [SYSTEM, user("Go on."), KNOWN], "unknown", None, history=FLIGHT),
    Form("masked", lambda _: [*START, LOOK, gives("c1", "[cleared]"), *TALK[6:], NEXT], "tool_result_masking", None),
    Form(
        "masked_in_flight",
        lambda _: [*START, LOOK, gives("c1", "-"), FOUND, YES, PLACE, KNOWN],
        "tool_result_masking",
        None,
        history=FLIGHT,
    ),
    Form("results_dropped", lambda _: [*START, FOUND, YES, SENT, NEXT], "dropped_tool_results", None),
    Form(
        "cut_texts",
        lambda _: [SYSTEM, user("Hello, I'm Maria"), TALK[2], user("The desk lamp has"), *TALK[4:], NEXT],
        "edit",
        None,
    ),
    Form("openai_agents_limit", lambda _: [SENT, NEXT], "sliding_window", None),
]

ASKS = user("Write a summary of the conversation above: names, numbers, open points.")
FASSE = user("Fasse das Bisherige mit allen Namen und Nummern kurz zusammen.")


def transcript(messages: Sequence[Message]) -> str:
    """The conversation as the text of one message."""
    lines = [f"{message['role']}: {json.dumps(message['parts'][0], ensure_ascii=False)}" for message in messages]
    return "\n".join(lines)


def summarisers(talk: Sequence[Message], text: str) -> Iterator[tuple[str, Sequence[Call]]]:
    """Yields the ways in which a call may write the text of a summary, each with its calls, of which the last wrote."""
    yield "asked_in_the_same_list", [Call([*talk, ASKS], agent(text), tokens=250)]
    yield "asked_in_german", [Call([*talk, FASSE], agent(text), tokens=250)]
    yield "same_list_other_system", [Call([OTHER, *talk[1:], ASKS], agent(text), tokens=250)]
    yield "older_messages_only", [Call([*talk[:-3], ASKS], agent(text))]
    yield "transcript", [Call([OTHER, user("Condense this:\n" + transcript(talk[1:]))], agent(text))]
    yield "transcript_without_system", [Call([user("Summarize the chat:\n" + transcript(talk[1:]))], agent(text))]
    yield "another_agent", [Call([OTHER, user(transcript(talk[1:]))], agent(text), agent="summariser")]
    failed = Call([*talk, ASKS], None)
    yield "asked_twice", [failed, Call([*talk, ASKS], agent(text), tokens=250)]


def before(form: Form) -> list[Message]:
    """The conversation that a form shortens: the last call's input and its answer."""
    last = form.history[-1]
    assert last.answer is not None
    return [*last.given, last.answer]


def labelled(form: Form, name: str = "", by: Sequence[Call] = (), text: str = TEXT) -> LabelledRun:
    """The run of a form. `by`: the calls that wrote its summary, made just before the shortened call."""
    after = form.after(text)
    summary = None if form.summary is None else after[form.summary]
    then = Call(after, agent("Tomorrow."), tokens=90)
    expected = Expected(
        len(form.history) + len(by),
        form.strategy,
        summary=summary,
        summariser=len(form.history) + len(by) - 1 if by else None,
    )
    return LabelledRun(f"{form.name}{name and '-'}{name}", [*form.history, *by, then], [expected])


def earlier(form: Form) -> LabelledRun:
    """The summary was written while the conversation still went on."""
    wrote = Call([OTHER, user("Condense this:\n" + transcript(TALK[1:-3]))], agent(TEXT))
    run = labelled(form)
    (expected,) = run.expected
    at = len(form.history) - 1
    moved = Expected(expected.call + 1, expected.strategy, summary=expected.summary, summariser=at)
    return LabelledRun(f"{form.name}-earlier", [*run.calls[:at], wrote, *run.calls[at:]], [moved])


CHINESE = (
    "客户洛佩斯报告台灯破裂。商品LMP-4471。价格15.5。账户77812345。新台灯寄往海港街12号。邮编90417。没有其他事项。"
)


def rewritten() -> Iterator[LabelledRun]:
    """Yields runs in which the program made its message of a part of what a call wrote, or of what several wrote."""
    plain, listed = REPLACED[0], transcript(TALK[1:])
    half = TEXT.index("Account")
    thought = (
        f"<analysis>\nI go through all messages, first those of the user.\n</analysis>\n<summary>\n{TEXT}\n</summary>"
    )
    yield labelled(plain, "without_its_analysis", [Call([*TALK, ASKS], agent(thought), tokens=250)])
    parts = [
        Call([OTHER, user(f"Part {n}: {listed}")], agent(text)) for n, text in enumerate((TEXT[:half], TEXT[half:]))
    ]
    yield labelled(plain, "of_two_parts", parts)
    noted = calls("c8", "compact", summary=TEXT)
    yield labelled(plain, "in_a_tool_call", [Call([*TALK, ASKS], noted, tokens=250)])
    as_json = agent(json.dumps({"summary": TEXT, "open": []}))
    yield labelled(plain, "in_json", [Call([OTHER, user(listed)], as_json)])
    yield labelled(plain, "chinese", text=CHINESE)
    yield labelled(plain, "chinese_written", [Call([OTHER, user(listed)], agent(CHINESE))], CHINESE)
    account = (
        "Maria Lopez reported a cracked Desk Lamp; a new one is to be sent to Harbour Street. Nothing else is open."
    )
    yield labelled(plain, "an_account", text=account)
    yield labelled(replace(plain, history=tuple(FLIGHT)), "an_account_in_flight", text=account)
    vague = "The customer is waiting for something that was broken when it came, and we have taken care of it already."
    yield labelled(plain, "vague", [Call([*TALK, ASKS], agent(vague), tokens=250)], vague)


def forms() -> Iterator[LabelledRun]:
    """Yields all runs in which the context was shortened once."""
    for form in (*REPLACED, *SHORTENED):
        yield labelled(form)
    for form in REPLACED:
        for name, by in summarisers(before(form), TEXT):
            yield labelled(form, name, by)
        yield earlier(form)
    yield from rewritten()


# --- no compressions --------------------------------------------------------------------------------------------------


def _unchanged(name: str, *more: Call, history: Sequence[Call] = HISTORY) -> LabelledRun:
    return LabelledRun(name, [*history, *more])


def _named(message: Message) -> Message:
    return {**message, "name": "support", "extra": {"id": "m1"}}


ANOTHER = user("Hello, I'm Ken Ito. My parcel A77-310 to 9 Mill Lane, bought on June 9th, never came. Please help.")
MIDDLE = [*LONG, PLACE, KNOWN]


def unshortened() -> Iterator[LabelledRun]:
    """Yields runs in which nothing was compressed, though the lists of their calls differ."""
    yield _unchanged("another_task", Call([SYSTEM, ANOTHER], agent("One moment.")))
    yield _unchanged("the_same_task_again", Call(START, LOOK), Call([*START, LOOK, ORDER], FOUND))
    yield _unchanged(
        "another_task_of_the_same_user",
        Call([SYSTEM, user("Hello, it's Maria Lopez again. My order W2378199 has not come; account 77812345.")], LOOK),
    )
    yield _unchanged(
        "a_title",
        Call([OTHER, user("Title for: " + HELLO["parts"][0]["content"])], agent("Broken lamp")),
        Call([*TALK, NEXT], agent("Tomorrow.")),
    )
    yield _unchanged(
        "a_judge",
        Call([OTHER, user("Is the customer content?\n" + transcript(TALK[1:]))], agent("Yes.")),
        Call([*TALK, NEXT], SENT),
    )
    yield _unchanged(
        "a_judge_without_system",
        Call([user("Is the customer content? Answer yes or no.\n" + transcript(TALK[1:]))], agent("Yes.")),
        Call([*TALK, NEXT], SENT),
    )
    yield _unchanged(
        "a_judge_of_the_answer",
        Call([system("You check answers."), user("Is this polite? It is on its way.")], agent("Yes.")),
        Call([*TALK, NEXT], SENT),
    )
    yield _unchanged(
        "facts_for_a_memory",
        Call(
            [SYSTEM, user("Extract facts worth remembering as JSON.\n" + transcript(TALK[1:]))],
            agent('{"facts": ["Maria Lopez has the account 77812345"]}'),
        ),
        Call([*TALK, NEXT], SENT),
    )
    yield _unchanged("a_summary_for_people", Call([*TALK, ASKS], agent(TEXT)), Call([*TALK, NEXT], SENT))
    offered = [replace(call, tools=["get_order", "get_address"]) for call in HISTORY]
    note = Call([SYSTEM, user(TEXT)], agent("Noted."))
    yield _unchanged("a_note_to_a_call_without_tools", note, history=offered)
    yield _unchanged("a_side_question", Call([SYSTEM, YES], agent("An address.")), Call([*TALK, NEXT], SENT))
    yield _unchanged("the_last_question_changed", Call([*LONG[:-1], user("No, thanks.")], agent("As you like.")))
    yield _unchanged("regenerated", Call(MIDDLE, agent("Sent.")), Call([*MIDDLE, agent("Sent."), NEXT], SENT))
    yield _unchanged(
        "best_of_three",
        *(Call(MIDDLE, agent(f"Sent, {n}.")) for n in range(3)),
        Call([*MIDDLE, agent("Sent, 1."), NEXT], SENT),
    )
    yield _unchanged(
        "a_name_added",
        Call([*(_named(message) if message["role"] == "assistant" else message for message in TALK), NEXT], SENT),
    )
    yield _unchanged(
        "a_name_added_late",
        Call([*TALK, NEXT], agent("Soon.")),
        Call(
            [
                *(_named(message) if message["role"] == "assistant" else message for message in [*TALK, NEXT]),
                agent("Soon."),
                user("Thanks."),
            ],
            SENT,
        ),
    )
    thought: Message = {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, *FOUND["parts"]]}
    yield _unchanged(
        "reasoning_left_out",
        Call([*LONG, PLACE, KNOWN], SENT),
        Call([*TALK, NEXT], SENT),
        history=[Call([*START, LOOK, ORDER], thought), Call([*START, LOOK, ORDER, thought, YES], PLACE)],
    )
    chain = [
        Call(
            [SYSTEM, user(f"Step {n}: rewrite this draft, and keep all of its numbers and names: {TEXT} {n}")],
            agent(f"{TEXT} {n + 1}"),
        )
        for n in range(4)
    ]
    yield LabelledRun("a_chain_of_prompts", chain)
    plan = agent("1. find the order W2378156 2. look up the account 77812345 3. send the lamp LMP-4471 to 90417")
    yield LabelledRun(
        "plan_and_steps",
        [
            Call([system("You plan."), HELLO], plan),
            *(
                Call([SYSTEM, user(f"{plan['parts'][0]['content']}\nDo step {n}.")], agent(f"Step {n} is done."))
                for n in (1, 2, 3)
            ),
        ],
    )
    yield LabelledRun(
        "two_agents",
        [
            *HISTORY,
            Call([OTHER, user(f"Answer for this customer: {TEXT}")], agent("Done."), agent="helper"),
            Call([*TALK, NEXT], SENT),
        ],
    )
    batch = [
        user(f"Classify the review number {n}: the lamp {name} is fine.") for n, name in enumerate(("A", "B", "C"))
    ]
    yield LabelledRun("a_batch", [Call([SYSTEM, one], agent("positive")) for one in batch])
    yield LabelledRun(
        "a_batch_of_loops",
        [
            call
            for n in range(3)
            for call in _loop(f"Check the stock of item LMP-{n}471 in the shop of {n} Harbour Street.", n)
        ],
    )
    yield _unchanged("the_clock", Call([system(f"{RULES} It is 9:00."), *TALK[1:], NEXT], agent("Soon.")))
    yield _unchanged(
        "places_changed",
        Call([SYSTEM, LAMP, HELLO, *TALK[2:3], *TALK[4:], NEXT], SENT),
        history=[Call([SYSTEM, HELLO, LAMP, *TALK[2:3], *TALK[4:-1]], SENT)],
    )


def _loop(task: str, n: int) -> list[Call]:
    asked, result = calls(f"s{n}", "get_stock", item=f"LMP-{n}471"), gives(f"s{n}", {"item": f"LMP-{n}471", "left": n})
    again, more = calls(f"t{n}", "get_shelf", item=f"LMP-{n}471"), gives(f"t{n}", {"shelf": f"S-{n}00"})
    first = [SYSTEM, user(task)]
    return [
        Call(first, asked),
        Call([*first, asked, result], again),
        Call([*first, asked, result, again, more], agent(f"{n} left on shelf S-{n}00.")),
    ]
