"""A chat whose managed context is compressed: one message is preserved and has a tag, and the policy is recorded."""

import openai

import playhead
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, contains, text

QUESTIONS = (
    "Hello, I am Maria Lopez, and my booking is HAT-4711.",
    "I need a flight to Oslo on May 12, not later than 14:30.",
    "I always want an aisle seat.",
    "What does it cost with two bags?",
    "Can I pay with my gift card, which ends in 8823?",
    "And my daughter, who is nine?",
    "Then book it, please.",
)
LONG_ANSWER = "I see. " + "This is a long answer that fills the context. " * 15


def chat(client: openai.OpenAI) -> None:
    summary = LlmSummary(model=OpenAIModel("gpt-4o", client=client))
    policy = Compression(limit=1_000, keep=Keep(messages=3), strategy=summary)
    context = Context(system="You book flights.", compression=policy)
    for question in QUESTIONS:
        is_booking = "booking" in question
        context.add("user", question, preserve=is_booking, tags=("booking",) if is_booking else ())
        context.answered(client.chat.completions.create(model="gpt-4o", messages=context.for_model()))


if __name__ == "__main__":
    playhead.instrument("openai")
    with MockModelServer() as server:
        server.when(
            contains("Conversation:", last=True), text("Maria Lopez wants a flight to Oslo, with an aisle seat.")
        )
        server.otherwise(text(LONG_ANSWER))
        with openai.OpenAI(base_url=server.base_url, api_key="none") as client, playhead.run("chat"):
            chat(client)
    playhead.flush()
