"""An agent of LangChain whose middleware compresses; see `compressing`."""

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

import playhead
from playhead.context.langchain import CompressionMiddleware
from tests.support.programs.compressing import STREAMED_TURN, TURNS, Program, looked_up, question


@tool
def look_up(q: str) -> str:
    """Looks something up."""
    return looked_up(q)


def main() -> None:
    playhead.instrument()
    program = Program()
    options: Any = {"api_key": "k", "base_url": "http://mock/v1", "stream_usage": True}
    options["http_client"] = program.server.http_client()
    options["http_async_client"] = program.server.async_http_client()
    model = ChatOpenAI(model="gpt-4o", **options)
    middleware = CompressionMiddleware(model, compression=program.compression())
    agent: Any = create_agent(
        model, [look_up], system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "t1"}}

    async def streamed(asked: Any) -> str:
        pieces = [piece async for piece, _ in agent.astream(asked, config, stream_mode="messages")]
        return "".join(piece.text for piece in pieces if isinstance(piece, AIMessageChunk))

    answers: list[str] = []
    with program.run():
        for turn in range(TURNS):
            program.point()
            asked = {"messages": [{"role": "user", "content": question(turn)}]}
            if turn % STREAMED_TURN == STREAMED_TURN - 1:
                answers.append(asyncio.run(streamed(asked)))
            else:
                answers.append(agent.invoke(asked, config)["messages"][-1].text)
    messages = agent.get_state(config).values["messages"]
    program.end(answers, [message.text for message in messages])


main()
