"""Runs for the browser's tests: one fails, one has texts that are HTML and SVG, and one forgets what it needs."""

import contextlib
from dataclasses import dataclass
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text, tool_call

HOSTILE = '<img src=x onerror="window.hurt=true"><svg onload="window.hurt=true"><script>window.hurt=true</script>'
# Lines of the large content: more than one range of it is read.
LINES = 30_000


@observe(name="broken")
def broken() -> None:
    raise ValueError("this agent fails")


@dataclass
class Account:
    name: str
    api_key: str


@observe(kind="tool")
def drawing() -> dict[str, str]:
    return {"svg": HOSTILE}


@observe(kind="tool")
def account() -> Account:
    return Account("Maria Lopez", "sk-this-is-a-secret")


@observe(kind="tool")
def log_of_a_day() -> str:
    return "\n".join(f"line {number:06}: {'the needle' if number == LINES - 5 else 'hay'}" for number in range(LINES))


@observe(name="hostile")
def hostile(client: openai.OpenAI) -> str:
    answer = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "system", "content": HOSTILE}, {"role": "user", "content": HOSTILE}]
    )
    drawing()
    account()
    log_of_a_day()
    return answer.choices[0].message.content or ""


# --- an agent that sums up its conversation, and afterwards lacks the item's number --------------------------------

SYSTEM = {"role": "system", "content": "You help customers of a shop with their orders."}
BEGINNING = [
    ("user", "Hello, I'm Maria Lopez. My order number is W2378156, bought on May 3rd."),
    ("assistant", "Thank you. What is wrong with it?"),
    ("user", "The desk lamp LMP-4471 has a crack. My account is 77812345."),
]
FOUND = "I found it. Shall I send a new one to your address?"
SUMMARY = "Summary of the conversation so far: Maria Lopez has a broken desk lamp from May 3rd and wants a new one."
YES = "Yes please, to 12 Harbour Street."
ASKS = "Could you tell me your account again?"
AGAIN = "It is 77812345."


@observe(kind="tool")
def send_item(item_id: str, street: str) -> str:
    return f"Error: no item {item_id}"


@observe(name="forgetful")
def forgetful(client: openai.OpenAI) -> str:
    def ask(messages: list[Any]) -> Any:
        return client.chat.completions.create(model="gpt-4o-mini", messages=messages).choices[0].message

    ask([SYSTEM, *({"role": role, "content": said} for role, said in BEGINNING)])
    short: list[Any] = [SYSTEM, {"role": "user", "content": SUMMARY}, {"role": "assistant", "content": FOUND}]
    short.append({"role": "user", "content": YES})
    wrong = ask(short)
    result = send_item("LMP-9999", "12 Harbour Street")
    short.append(wrong.model_dump(exclude_none=True))
    short.append({"role": "tool", "tool_call_id": wrong.tool_calls[0].id, "content": result})
    short.append({"role": "assistant", "content": ask(short).content})
    short.append({"role": "user", "content": AGAIN})
    return ask(short).content or ""


# --- a run that is continued -----------------------------------------------------------------------------------------


def continued() -> None:
    with playhead.run("day one") as first:
        playhead.checkpoint({"done": 3})
    with playhead.run("day two", continues=first.id) as second:
        second.state["done"] = 4


def scripted(server: MockModelServer) -> None:
    server.when(contains(HOSTILE, role="user"), text(HOSTILE))
    server.when(contains(AGAIN, role="user", last=True), text("It is on its way."))
    server.when(contains("no item", role="tool", last=True), text(ASKS))
    send = tool_call("send_item", {"item_id": "LMP-9999", "street": "12 Harbour Street"})
    server.when(contains(YES, role="user", last=True), send)
    server.otherwise(text(FOUND))


if __name__ == "__main__":
    playhead.instrument()
    with contextlib.suppress(ValueError):
        broken()
    with MockModelServer() as server:
        scripted(server)
        client = openai.OpenAI(base_url=server.base_url, api_key="none")
        hostile(client)
        forgetful(client)
    continued()
    playhead.flush()
