"""An agent: instructions, a model, tools, and the loop over its turns.

    agent = playhead.Agent[Deps](name="support", instructions="You help.", model="gpt-4o", tools=[look_up])
    out = agent.run_sync("Where is my order?", deps=Deps(...))

A run of it is a run of Playhead, or inside one an agent of that run. Every model call, tool call and approval is
recorded, and a run that was killed goes on from its last recorded step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from playhead.agent.agent_context import AgentContext, model_object
from playhead.agent.conversing import RunConversation, beside_loop, messages_at_start, save_added
from playhead.agent.outputs import output_type
from playhead.agent.results import AgentResult, Ask
from playhead.agent.settings import AgentSettings, RenderedPrompt
from playhead.agent.streams import AgentStream, Emit
from playhead.agent.tools import Tool, as_tool
from playhead.api.promises.asking import ToolRule, checked_rule
from playhead.api.scope import run as recorded_run
from playhead.calls.flow import has_event_loop
from playhead.context.policy import AnyCompression, check_compression
from playhead.dialect import openai_chat
from playhead.model.json_value import JsonMapping
from playhead.models.choosing import ModelLike
from playhead.models.model import ModelRequest

Deps = TypeVar("Deps")


@dataclass(frozen=True, slots=True)
class _Given:
    """What the caller gave to a run, besides `deps`."""

    ask: str | Ask
    session: str | None
    conversation: RunConversation | None
    continue_session: bool


Instructions = str | Callable[[AgentContext[Any]], str | Awaitable[str]] | RenderedPrompt | None
Loop = Callable[[AgentContext[Deps], Ask], Awaitable[Any]]
LoopType = TypeVar("LoopType", bound=Callable[..., Awaitable[Any]])


async def default_loop(context: AgentContext[Any], ask: Ask) -> str:
    """Asks the model, executes the tools that it asks for, and so on, until it asks for none."""
    context.add("user", ask.prompt)
    while True:
        answer = await context.call()
        for call in answer.tool_calls:
            await context.execute(call)
        if answer.done:
            return answer.text


class Agent(Generic[Deps]):
    """An agent. The same object serves any number of runs at once.

    `instructions`: the system prompt, a function of the `AgentContext` that returns it, or a prompt with sections;
    asked before each call, so it has to say the same in a resumed run. `model`: a name, a model or a chooser of
    `playhead.models`. `tools`: functions, with or without `playhead.tool`. `max_turns`: most model calls of a run.
    `approval`: which tools need a person's approval, as in `playhead.configure(approval=...)`; "writes": those with
    `writes=True`. `compression`: of the context; see `playhead.context`. `output`: the type of the final answer; `str`:
    any text. `capture_reasoning`: asks for thinking, where the model supports it. `tool_models`: by tool, the model
    that reads its results.

    Raises TypeError for a tool whose parameters a model cannot fill in, and ValueError for two tools of one name.
    """

    def __init__(
        self,
        *,
        name: str = "agent",
        model: ModelLike,
        instructions: Instructions = None,
        tools: "Sequence[Tool[..., Any] | Callable[..., Any]]" = (),
        max_turns: int = 50,
        approval: ToolRule | None = None,
        compression: AnyCompression | None = None,
        output: Any = str,
        capture_reasoning: bool = True,
        tool_models: Mapping[str, ModelLike] | None = None,
    ) -> None:
        used = [as_tool(each) for each in tools]
        by_name = {tool.name: tool for tool in used}
        if len(by_name) < len(used):
            raise ValueError(f"{name}: two tools have one name: {', '.join(sorted(tool.name for tool in used))}")
        answer = output_type(output)
        check_compression(compression)
        self.settings = AgentSettings(
            name=name,
            model=model_object(model),
            instructions=instructions,
            tools=by_name,
            max_turns=max_turns,
            approval=None if approval is None else checked_rule(approval),
            compression=compression,
            output_type=answer,
            tool_models=dict(tool_models or {}),
            request=ModelRequest(
                [],
                tools=[tool.definition for tool in used],
                output=None if answer is None else answer.schema,
                thinking=capture_reasoning,
            ),
        )
        self._loop: Loop[Deps] = default_loop

    @property
    def name(self) -> str:
        """Its name, which its runs have."""
        return self.settings.name

    def execute(self, loop: LoopType) -> LoopType:
        """Replaces the loop: `@agent.execute` on `async def loop(ctx, ask)`, which returns the response."""
        self._loop = loop
        return loop

    async def run(
        self,
        ask: str | Ask,
        *,
        deps: Deps | None = None,
        session: str | None = None,
        conversation: RunConversation | None = None,
        continue_session: bool = False,
    ) -> AgentResult:
        """Runs the agent. `deps`: for its tools and instructions. `session`: names the runs that belong together.

        `conversation`: of `playhead.conversation`. Its messages come before the question, and what the run adds to
        them, without the instructions, is saved at its end. A run that fails adds nothing. If another writer has saved
        the conversation meanwhile, the run is complete, and ConversationConflict is raised with the `result`; the
        messages are in the conversation, for `reload()` and `save()`, or `branch()`.

        `continue_session`: the run begins with the messages with which the last run of the session ended.

        Raises MaxTurnsExceeded, OutputInvalid, what a model's client raises, and what the conversation raises."""
        given = _Given(ask, session, conversation, continue_session)
        return await self._run(given, deps, blocking=False, emit=None)

    def run_sync(
        self,
        ask: str | Ask,
        *,
        deps: Deps | None = None,
        session: str | None = None,
        conversation: RunConversation | None = None,
        continue_session: bool = False,
    ) -> AgentResult:
        """The same without asyncio. Tools that are no coroutines run in the caller's thread. Raises RuntimeError in a
        running event loop: await `run` there."""
        if has_event_loop():
            raise RuntimeError("run_sync was called in a running event loop: await run(...) there")
        given = _Given(ask, session, conversation, continue_session)
        return asyncio.run(self._run(given, deps, blocking=True, emit=None))

    def run_stream(
        self,
        ask: str | Ask,
        *,
        deps: Deps | None = None,
        session: str | None = None,
        conversation: RunConversation | None = None,
        continue_session: bool = False,
    ) -> AgentStream:
        """Runs the agent, and returns the stream of what happens: pieces of answers, tool calls and their results."""
        given = _Given(ask, session, conversation, continue_session)
        return AgentStream(lambda emit: self._run(given, deps, blocking=False, emit=emit))

    async def _run(self, given: "_Given", deps: Deps | None, *, blocking: bool, emit: Emit | None) -> AgentResult:
        ask = Ask(given.ask) if isinstance(given.ask, str) else given.ask
        held = given.conversation
        conflict: Exception | None = None
        async with recorded_run(
            self.name, session=given.session, conversation=held, continue_session=given.continue_session
        ) as run:
            run.input(ask.prompt)
            context: AgentContext[Deps] = AgentContext(
                self.settings, ask, cast(Deps, deps), blocking=blocking, emit=emit
            )
            if held is not None:
                context.begin_with(await beside_loop(lambda: messages_at_start(held), blocking=blocking))
            elif given.continue_session:
                context.begin_with([openai_chat.to_message(message) for message in run.history])
            for message in ask.messages:
                context.context.add_native(cast(JsonMapping, openai_chat.to_message(message)))
            response = await self._loop(context, ask)
            result = self._result(response, context, run.id)
            run.output(result.output if self.settings.output_type is not None else result.response)
            if held is not None:
                added = context.added_messages()
                conflict = await beside_loop(lambda: save_added(held, added, result), blocking=blocking)
        if conflict is not None:
            raise conflict
        return result

    def _result(self, response: Any, context: AgentContext[Deps], run: str | None) -> AgentResult:
        """Returns the result of a loop: its text, which is read as the output type, or an output that it made."""
        text = response if isinstance(response, str) else (context.answer.text if context.answer is not None else "")
        output = response
        if self.settings.output_type is not None and isinstance(response, str):
            output = self.settings.output_type.read(response)
        return AgentResult(text, output, context.turn, context.tool_calls, context.usage, context.cost, run)
