"""Recorded runs, each cut before a call of the model. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playhead.testing import Trajectory
from playhead.testing.request import JsonObject


@dataclass(frozen=True, slots=True)
class CutConversation:
    """A recorded run at the moment of a model call. `before`: the messages that the call got, without the system
    prompt; `later`: the recorded answer and all that follows. Messages are in the form of Chat Completions."""

    run: str
    system: str
    before: Sequence[JsonObject]
    later: Sequence[JsonObject]


def cut_at(run: Trajectory, share: float) -> CutConversation:
    """Returns the run, cut before the first model call with at least this share of its messages; the last one if there
    is none. Raises ValueError for a run without a system prompt or a model call."""
    if not run.turns or run.messages[0]["role"] != "system":
        raise ValueError(f"{run.key} does not begin with a system prompt, or has no model call")
    least = math.ceil(share * len(run.messages))
    turn = next((turn for turn in run.turns if turn >= least), run.turns[-1])
    messages = list(_with_own_ids(run.messages))
    return CutConversation(run.key, str(messages[0]["content"]), messages[1:turn], messages[turn:])


def _with_own_ids(messages: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Numbers tool calls: the recorded model gave some ids twice in a run, which is refused in places."""
    ids: dict[str, str] = {}
    count = 0
    for message in messages:
        if message.get("tool_calls"):
            calls: list[JsonObject] = []
            for call in message["tool_calls"]:
                count += 1
                ids[call["id"]] = f"call_{count}"
                calls.append({**call, "id": ids[call["id"]]})
            yield {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            yield {**message, "tool_call_id": ids[message["tool_call_id"]]}
        else:
            yield message
