"""An agent of two tools and two model calls, killed in its second tool if `DIES` is set. Prints what it executes.

`tests.support.recorded_state` records it with the version of today; the tests resume what older versions recorded of
it. So neither the code of the calls nor their order may change.
"""

import json
import os
import signal

import openai
from openai.types.chat import ChatCompletionMessageParam

import playhead

playhead.instrument("openai")
client = openai.OpenAI()


@playhead.observe(kind="tool")
def order_status(order: str) -> dict[str, object]:
    print("order_status", flush=True)
    return {"order": order, "status": "delayed", "days": 3}


@playhead.observe(kind="tool", idempotent=True)
def refund(order: str, amount: int) -> dict[str, object]:
    if os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    print("refund", flush=True)
    return {"order": order, "refunded": amount}


def ask(messages: list[ChatCompletionMessageParam]) -> str:
    answer = client.chat.completions.create(model="gpt-4o", messages=messages)
    return answer.choices[0].message.content or ""


@playhead.observe
def agent(question: str) -> str:
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "You help with orders."},
        {"role": "user", "content": question},
    ]
    status = order_status("A1")
    messages.append({"role": "user", "content": f"Status: {json.dumps(status)}"})
    messages.append({"role": "assistant", "content": ask(messages)})
    done = refund("A1", amount=20)
    messages.append({"role": "user", "content": f"Refund: {json.dumps(done)}"})
    return ask(messages)


print(agent("Where is order A1?"), flush=True)
playhead.flush()
