"""A chat on LangGraph, as a program of its own: `chat.py postgres|playhead PLACE plain|delta TURNS`.

Imports nothing of this repository but for our saver, so that it runs where the official one is installed. Prints JSON:
the checkpoints, the seconds of each turn, the seconds until another saver has read the thread, and its messages.
"""

import json
import random
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph, add_messages

_WORDS = [line.strip() for line in (__doc__ or "").split()]


def _added(messages: list[AnyMessage], writes: Sequence[list[AnyMessage]]) -> list[AnyMessage]:
    return [*messages, *(message for write in writes for message in write)]


class Plain(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_added)]


def _text(chance: random.Random, words: int) -> str:
    return " ".join(f"{chance.choice(_WORDS)}{chance.randrange(1000)}" for _ in range(words))


def _graph(form: Any, saver: Any, chance: random.Random) -> Any:
    def model(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(_text(chance, 40), id=f"run-{chance.getrandbits(128):032x}")]}

    builder = StateGraph(form)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(checkpointer=saver)


def _saver(name: str, place: str) -> AbstractContextManager[Any]:
    if name == "playhead":
        import_module("playhead").configure(endpoint=place)
        return nullcontext(import_module("playhead.conversations.langgraph").PlayheadSaver())
    return import_module("langgraph.checkpoint.postgres").PostgresSaver.from_conn_string(place)


def main(name: str, place: str, form: str, turns: int) -> None:
    chance = random.Random(34)
    schema = Delta if form == "delta" else Plain
    config = {"configurable": {"thread_id": "chat"}}
    with _saver(name, place) as saver:
        if name == "postgres":
            saver.setup()
        graph = _graph(schema, saver, chance)
        seconds: list[float] = []
        for _ in range(turns):
            began = time.perf_counter()
            graph.invoke({"messages": [HumanMessage(_text(chance, 15), id=f"{chance.getrandbits(128):032x}")]}, config)
            seconds.append(time.perf_counter() - began)
        checkpoints = sum(1 for _ in saver.list(config))
    with _saver(name, place) as other:
        began = time.perf_counter()
        messages = _graph(schema, other, chance).get_state(config).values["messages"]
        read = time.perf_counter() - began
    print(json.dumps({"checkpoints": checkpoints, "seconds": seconds, "read": read, "messages": len(messages)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
