"""An agent of pydantic-ai whose history processor compresses; see `compressing`."""

import asyncio
from typing import Any

import openai
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import playhead
from playhead.context import LlmSummary
from playhead.context.pydantic_ai import history_processor
from playhead.models import OpenAIModel
from tests.support.programs.compressing import STREAMED_TURN, TURNS, Program, looked_up, question


async def main() -> None:
    playhead.instrument()
    program = Program()
    options: Any = {"api_key": "k", "base_url": "http://mock/v1"}
    client = openai.OpenAI(http_client=program.server.http_client(), **options)
    async_client = openai.AsyncOpenAI(http_client=program.server.async_http_client(), **options)
    summariser = LlmSummary(model=OpenAIModel("gpt-4o", client=client))
    processor = history_processor(program.compression(strategy=summariser))
    agent = Agent(
        OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=async_client)),
        instructions="Be brief.",
        capabilities=[ProcessHistory(processor)],
    )

    @agent.tool_plain
    def look_up(q: str) -> str:
        """Looks something up."""
        return looked_up(q)

    answers: list[str] = []
    history: Any = []
    with program.run():
        for turn in range(TURNS):
            program.point()
            if turn % STREAMED_TURN == STREAMED_TURN - 1:
                async with agent.run_stream(question(turn), message_history=history) as result:
                    answers.append([said async for said in result.stream_text(debounce_by=None)][-1])
            else:
                result: Any = await agent.run(question(turn), message_history=history)
                answers.append(result.output)
            history = result.all_messages()
    program.end(answers, [str(getattr(part, "content", "")) for message in history for part in message.parts])


asyncio.run(main())
