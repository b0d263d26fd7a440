"""One desk in each framework that waits for a person: it deletes files, each after a person has approved."""

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import playhead


class Desk(Protocol):
    """A desk's process: a later one is another object, with what `kept` says in its hands."""

    framework: ClassVar[str]
    kind: ClassVar[str]
    deleted: list[str]

    def ask(self, *paths: str) -> Any:
        """Starts; returns what the framework returns when it waits."""
        ...

    def go_on(self, given: Any) -> Any:
        """Goes on with what the framework takes."""
        ...

    def decide(self, waiting: Any, *, is_approved: bool) -> Any:
        """What the framework takes, made by the program itself."""
        ...

    def keep(self, waiting: Any) -> bytes:
        """What a program keeps for a later process."""
        ...

    def kept(self, data: bytes) -> Any:
        """What a later process has, to be given to `playhead.answers`."""
        ...


class LangGraphDesk:
    """One node for each file; each interrupts its graph."""

    framework: ClassVar[str] = "langgraph"
    kind: ClassVar[str] = "input"

    def __init__(self) -> None:
        from langgraph.checkpoint.memory import InMemorySaver

        self.deleted: list[str] = []
        self.saver: Any = InMemorySaver()
        self.config: Any = {"configurable": {"thread_id": "t1"}}
        self.paths: tuple[str, ...] = ()

    def _graph(self) -> Any:
        from langgraph.graph import START, StateGraph

        state: Any = dict
        graph: Any = StateGraph(state)
        for path in self.paths:
            graph.add_node(f"delete {path}", self._node(path))
            graph.add_edge(START, f"delete {path}")
        return graph.compile(name="desk", checkpointer=self.saver)

    def _node(self, path: str) -> Callable[[Any], None]:
        from langgraph.types import interrupt

        def node(state: Any) -> None:
            if interrupt({"path": path}):
                self.deleted.append(path)

        return node

    def ask(self, *paths: str) -> Any:
        self.paths = paths
        return self._graph().invoke({"begun": True}, self.config)

    def go_on(self, given: Any) -> Any:
        return self._graph().invoke(given, self.config)

    def decide(self, waiting: Any, *, is_approved: bool) -> Any:
        from langgraph.types import Command

        return Command(resume={each.id: is_approved for each in waiting["__interrupt__"]})

    def keep(self, waiting: Any) -> bytes:
        return pickle.dumps((self.paths, *(dict(each) for each in self._tables())))

    def _tables(self) -> tuple[Any, ...]:
        return self.saver.storage, self.saver.writes, self.saver.blobs

    def kept(self, data: bytes) -> Any:
        self.paths, *tables = pickle.loads(data)
        for ours, theirs in zip(self._tables(), tables, strict=True):
            ours.update(theirs)
        return self._graph().get_state(self.config)


class OpenAIAgentsDesk:
    """One tool that needs approval, called for each file."""

    framework: ClassVar[str] = "openai-agents"
    kind: ClassVar[str] = "approval"

    def __init__(self) -> None:
        from agents import set_trace_processors, set_tracing_disabled

        set_trace_processors([])  # traces have ids, and are sent to nobody
        set_tracing_disabled(False)
        self.deleted: list[str] = []
        self.paths: tuple[str, ...] = ()

    def _agent(self) -> Any:
        from agents import Agent, function_tool

        def delete(path: str) -> str:
            """Deletes a file."""
            self.deleted.append(path)
            return "gone"

        tool = function_tool(delete, needs_approval=True)
        return Agent(name="desk", tools=[tool], model=_ScriptedModel(self.paths))

    def ask(self, *paths: str) -> Any:
        from agents import Runner

        self.paths = paths
        return asyncio.run(Runner.run(self._agent(), "Clean up."))

    def go_on(self, given: Any) -> Any:
        from agents import Runner

        return asyncio.run(Runner.run(given._starting_agent, given))

    def decide(self, waiting: Any, *, is_approved: bool) -> Any:
        state = waiting.to_state()
        for item in state.get_interruptions():
            (state.approve if is_approved else state.reject)(item)
        return state

    def keep(self, waiting: Any) -> bytes:
        return json.dumps([self.paths, waiting.to_state().to_string()]).encode()

    def kept(self, data: bytes) -> Any:
        from agents import RunState

        paths, text = json.loads(data)
        self.paths = tuple(paths)
        return asyncio.run(RunState.from_string(self._agent(), text))


def _ScriptedModel(paths: tuple[str, ...]) -> Any:
    """A model that first asks for all deletions, and then says that it is done."""
    from agents import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
            items = given[1] if len(given) > 1 else options["input"]
            answered = [each for each in items if isinstance(each, dict) and each.get("type") == "function_call_output"]
            usage = Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10)
            if answered:
                part = ResponseOutputText(type="output_text", text="done", annotations=[])
                said: Any = ResponseOutputMessage(
                    id="m1", type="message", role="assistant", status="completed", content=[part]
                )
                return ModelResponse(output=[said], usage=usage, response_id="r2")
            calls: list[Any] = [
                ResponseFunctionToolCall(
                    type="function_call", name="delete", arguments=json.dumps({"path": path}), call_id=f"c{number}",
                    id=f"f{number}",
                )
                for number, path in enumerate(paths)
            ]  # fmt: skip
            return ModelResponse(output=calls, usage=usage, response_id="r1")

        def stream_response(self, *given: Any, **options: Any) -> Any:
            raise NotImplementedError

    return Scripted()


class PydanticAIDesk:
    """One tool that needs approval, called for each file."""

    framework: ClassVar[str] = "pydantic-ai"
    kind: ClassVar[str] = "approval"

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.paths: tuple[str, ...] = ()
        self.messages: Any = None

    def _agent(self) -> Any:
        from pydantic_ai import Agent, DeferredToolRequests
        from pydantic_ai.models.function import FunctionModel

        agent: Any = Agent(FunctionModel(self._answer), name="desk", output_type=[str, DeferredToolRequests])

        def delete(path: str) -> str:
            self.deleted.append(path)
            return "gone"

        agent.tool_plain(delete, requires_approval=True)
        return agent

    def _answer(self, messages: Any, info: Any) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        calls = [ToolCallPart("delete", {"path": path}, f"c{number}") for number, path in enumerate(self.paths)]
        return ModelResponse(parts=calls)

    def ask(self, *paths: str) -> Any:
        self.paths = paths
        result = asyncio.run(self._agent().run("Clean up."))
        self.messages = result.all_messages()
        return result

    def go_on(self, given: Any) -> Any:
        made = self._agent().run(message_history=self.messages, deferred_tool_results=given)
        result = asyncio.run(made)
        self.messages = result.all_messages()
        return result

    def decide(self, waiting: Any, *, is_approved: bool) -> Any:
        from pydantic_ai import DeferredToolResults

        calls: dict[str, Any] = {call.tool_call_id: is_approved for call in waiting.output.approvals}
        return DeferredToolResults(approvals=calls)

    def keep(self, waiting: Any) -> bytes:
        return json.dumps([self.paths, waiting.all_messages_json().decode()]).encode()

    def kept(self, data: bytes) -> Any:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        paths, text = json.loads(data)
        self.paths = tuple(paths)
        self.messages = ModelMessagesTypeAdapter.validate_json(text)
        return self.messages


DESKS: list[Any] = [LangGraphDesk, OpenAIAgentsDesk, PydanticAIDesk]


def instrument() -> None:
    """Records all three, by themselves."""
    playhead.instrument("langgraph", "agents", "pydantic_ai")
