"""A chat loop of one's own, made to compress its context by three lines; then the audit that says what was lost.

    python examples/managed_context.py

No key, no network and no collector are needed: the model is a mock, and what is recorded stays in the local journal.
"""

from typing import Any

import openai

import playhead
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, contains, text

QUESTIONS = [
    "Hello, I am Maria Lopez, and my booking is HAT-4711.",
    "I need a flight to Oslo on May 12, not later than 14:30.",
    "I always want an aisle seat.",
    "What does it cost with two bags?",
    "Can I pay with my gift card, which ends in 8823?",
    "And my daughter, who is nine?",
    "Then book it, please.",
]


def mock_client() -> openai.OpenAI:
    """A client of a model that is not there: it summarises when it is asked to, and else gives a long answer."""
    server = MockModelServer(models=("gpt-4o",))
    server.when(contains("Summarise the conversation"), text("Maria Lopez wants a flight to Oslo, with an aisle seat."))
    server.otherwise(text("I see. " + "This is a long answer that fills the context. " * 12))
    return openai.OpenAI(api_key="none", base_url="http://mock/v1", http_client=server.http_client())


playhead.instrument("openai")
client = mock_client()


def chat() -> str | None:
    summary = LlmSummary(model=OpenAIModel("gpt-4o", client=client))
    with playhead.run("chat") as run:
        # One: a context with a policy. A real one has the model's window as its limit.
        policy = Compression(limit=1_000, keep=Keep(messages=3), strategy=summary, after=print_report)
        context = Context(system="You book flights.", compression=policy)
        for question in QUESTIONS:
            context.add("user", question, preserve="booking" in question)
            messages: Any = context.for_model()  # two: instead of a list of messages
            answer = client.chat.completions.create(model="gpt-4o", messages=messages)
            context.answered(answer)  # three: instead of appending the answer
        print(f"{len(context.history)} messages were said, the model saw {len(context.messages)} of them last")
        return run.id


def print_report(report: Any) -> None:
    print(f"compressed: {report.messages_before} to {report.messages_after} messages, {report.ratio:.0%} of the tokens")


if __name__ == "__main__":
    run_id = chat()
    print(f"what was lost:   playhead compressions {run_id} --local")
    for event in playhead.read_local(run_id, kinds="context_compressed"):
        data = event["data"]
        print(f"  {data['trigger']}: {len(data['summarised'])} messages summarised, {len(data['preserved'])} preserved")
