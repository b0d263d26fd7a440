"""An agent of OpenAI Agents whose input filter compresses; see `compressing`."""

import asyncio
from typing import Any

import openai
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool, set_tracing_disabled

import playhead
from playhead.context import LlmSummary
from playhead.context.openai_agents import input_filter
from playhead.models import OpenAIModel
from tests.support.programs.compressing import STREAMED_TURN, TURNS, Program, looked_up, question


@function_tool
def look_up(q: str) -> str:
    """Looks something up."""
    return looked_up(q)


async def main() -> None:
    set_tracing_disabled(True)
    playhead.instrument()
    program = Program()
    options: Any = {"api_key": "k", "base_url": "http://mock/v1"}
    client = openai.OpenAI(http_client=program.server.http_client(), **options)
    async_client = openai.AsyncOpenAI(http_client=program.server.async_http_client(), **options)
    summariser = LlmSummary(model=OpenAIModel("gpt-4o", client=client))
    shorter = input_filter(program.compression(strategy=summariser))
    agent = Agent(
        "support", model=OpenAIResponsesModel("gpt-4o", async_client), tools=[look_up], instructions="Be brief."
    )
    config = RunConfig(call_model_input_filter=shorter)
    answers: list[str] = []
    items: Any = []
    with program.run():
        for turn in range(TURNS):
            program.point()
            items = [*items, {"role": "user", "content": question(turn)}]
            if turn % STREAMED_TURN == STREAMED_TURN - 1:
                result: Any = Runner.run_streamed(agent, items, hooks=shorter.hooks, run_config=config)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, items, hooks=shorter.hooks, run_config=config)
            answers.append(str(result.final_output))
            items = result.to_input_list()
    program.end(answers, [str(item.get("content") or item.get("output") or "") for item in items])


asyncio.run(main())
