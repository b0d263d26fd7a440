"""What a loop of an agent has in its hands: the context, the model, the tools, and what came of them so far."""

import inspect
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from playhead.agent.outputs import OutputType
from playhead.agent.results import Ask, ExecutedCall
from playhead.agent.settings import AgentSettings, RenderedPrompt
from playhead.agent.signatures import FilledIn
from playhead.agent.streams import AnswerArrived, Emit, ReasoningDelta, TextDelta, ToolEnded, ToolStarted
from playhead.agent.tools import result_text
from playhead.calls.labels import labelled
from playhead.context import Context
from playhead.errors import Denied, MaxTurnsExceeded, OutputInvalid, ReplayError, is_run_stopped
from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.json_value import JsonMapping
from playhead.model.message import Message
from playhead.model.models import BY_NAME, model_named
from playhead.models.choosing import CallSituation, ModelChooser, ModelLike, complete_async, record_choice, stream_async
from playhead.models.clients import named
from playhead.models.failures import says_too_long
from playhead.models.model import Model, ModelRequest, ModelResponse, ToolCallRequest, portable

Deps = TypeVar("Deps")

# Of the tools that were used, those that a prompt is given.
_RECENT_TOOLS = 5
_NOT_EXECUTED = "This call was not executed."
OUTPUT_RETRIES = 2
"""How often a model is asked again, with the error, for an answer of the type that was asked for."""


@dataclass(frozen=True, slots=True)
class _ModelChange:
    """Another model than the agent's, and why."""

    model: ModelLike
    reason: str


@dataclass(frozen=True, slots=True)
class _AddedMessage:
    """A message that waits for the results of tools before it."""

    role: str
    content: str
    preserve: bool
    tags: tuple[str, ...]


class AgentContext(FilledIn, Generic[Deps]):
    """One run of an agent, for its loop, its tools and its instructions.

    `deps` is what the caller gave to the run, `agent` what the agent was made with. `context` has the messages
    (`playhead.context.Context`), `turn` counts the model calls, `usage` and `cost` (US dollars) sum them up, without
    those that wrote summaries: None where a number or a price is not known.
    """

    def __init__(self, agent: AgentSettings, ask: Ask, deps: Deps, *, blocking: bool, emit: Emit | None) -> None:
        self.agent = agent
        self.ask = ask
        self.deps = deps
        self.context = Context(
            compression=agent.compression, api="canonical", model=None if _is_chooser(agent.model) else agent.model
        )
        self.turn = 0
        self.tool_calls: list[ExecutedCall] = []
        self.usage = TokenUsage(0, 0)
        self.cost: float | None = 0.0
        self.answer: ModelResponse | None = None
        self._blocking = blocking
        self._emit = emit
        self._providers: dict[int, str] = {}  # number of an answer's entry → whose it is
        self._results: dict[int, str] = {}  # place of an open call → its result
        self._open: list[ToolCallRequest] = []  # calls of the last answer
        self._executing = 0  # number of calls that are executed now
        self._later: list[_AddedMessage] = []  # added meanwhile
        self._reads: str | None = None  # the tool whose result the next call reads first
        self._phase: list[_ModelChange] = []
        self._readers: dict[int, _ModelChange] = {}  # place of a call → the model that reads its result
        self._invalid = 0
        self._corrects = False  # the newest message says what was wrong with the last answer
        self._earlier = 0  # messages of before the run
        self._is_instructed = False

    # --- messages ---------------------------------------------------------------------------------------------------

    def add(self, role: str, content: str, *, preserve: bool = False, tags: Sequence[str] = ()) -> None:
        """Adds a message to the context; see `Context.add`. Results of open tool calls come before it: what is added
        while a tool is executed is in the context with the next model call."""
        self._later.append(_AddedMessage(role, content, preserve, tuple(tags)))
        if not self._executing:
            self._add_results()

    @property
    def messages(self) -> list[Message]:
        """The messages that the model sees, in canonical form (`role` and `parts`)."""
        return [entry.message for entry in self.context.messages]

    def begin_with(self, messages: Sequence[Message]) -> None:
        """Adds the messages of before this run, in the form of the record."""
        for message in messages:
            self.context.add_native(cast(JsonMapping, message))
        self._earlier = len(self.context.history)

    def added_messages(self) -> list[Message]:
        """Returns what this run has added, before any compression: in the form of the record, without instructions."""
        self._add_results()
        entries = self.context.history
        first = self._earlier + (1 if self._is_instructed else 0)  # instructions stand first
        return [entry.message for entry in entries[first:]]

    # --- the model --------------------------------------------------------------------------------------------------

    async def call(
        self, *, model: ModelLike | None = None, temperature: float | None = None, max_tokens: int | None = None
    ) -> ModelResponse:
        """Asks the model, and adds its answer to the context. `answer.done`: it asks for no tools.

        `model`: another one for this call. A final answer that is not of the agent's output type is asked for again,
        with the error, at most twice. Raises MaxTurnsExceeded, OutputInvalid, RuntimeError while a tool is executed,
        whose result is a part of what the model is to see, and what the model's client raises.
        """
        if self._executing:
            raise RuntimeError(
                f"{self.agent.name}: the model was called while a tool is executed: give the tool a model"
            )
        while True:
            response = await self._one_call(model, temperature, max_tokens)
            error = self._output_error(response)
            if error is None:
                return response
            if self._invalid >= OUTPUT_RETRIES:
                raise OutputInvalid(f"{self.agent.name}: {error}")
            self._invalid += 1
            self._corrects = True
            self.context.add("user", f"{error}\nAnswer again.")

    @contextmanager
    def model(self, model: ModelLike, *, reason: str = "chosen for a phase") -> Generator[None]:
        """Asks another model inside the block."""
        self._phase.append(_ModelChange(model, reason))
        try:
            yield
        finally:
            self._phase.pop()

    async def _one_call(
        self, model: ModelLike | None, temperature: float | None, max_tokens: int | None
    ) -> ModelResponse:
        agent = self.agent
        if self.turn >= agent.max_turns:
            raise MaxTurnsExceeded(
                f"{agent.name} has made {self.turn} model calls and is not done: give Agent(max_turns=...) more, or "
                "look at what it repeats"
            )
        self._add_results()
        self.turn += 1
        if (system := await self._instructions()) is not None:
            self.context.instruct(system)
            self._is_instructed = True
        request = replace(agent.request, temperature=temperature, max_tokens=max_tokens)
        situation = self._situation()
        chosen = self._chosen(model)
        with labelled({names.TURN: self.turn}):
            response = await self._attempt(chosen, request, situation)
        self._readers, self._reads, self._corrects = {}, None, False
        self._take(response)
        return response

    async def _instructions(self) -> str | None:
        """Returns the system prompt for the next call; None: there is none."""
        given = self.agent.instructions
        if given is None or isinstance(given, str):
            return given
        if isinstance(given, RenderedPrompt):
            recent = [call.name for call in self.tool_calls[-_RECENT_TOOLS:]]
            return given.render(message=self._newest_of_user(), tools=recent)
        text = given(self)
        return await text if inspect.isawaitable(text) else text

    def _newest_of_user(self) -> str:
        return next((entry.text for entry in reversed(self.context.messages) if entry.role == "user"), "")

    async def _attempt(self, model: ModelLike, request: ModelRequest, situation: CallSituation) -> ModelResponse:
        """Asks the model; once more with a shorter context, if the provider says that it is too long."""

        async def prepare(asked: Model) -> ModelRequest:
            await self.context.for_model_async(asked)
            return replace(request, messages=self._messages_for(asked))

        try:
            return await self._asked(model, prepare, situation)
        except Exception as error:
            if is_run_stopped(error) or not says_too_long(error):
                raise
            if not await self.context.refused_async(error):
                raise
        return await self._asked(model, prepare, situation)

    async def _asked(self, model: ModelLike, prepare: Any, situation: CallSituation) -> ModelResponse:
        if self._emit is None:
            return await complete_async(model, prepare, situation)
        response: ModelResponse | None = None
        async for chunk in stream_async(model, prepare, situation):
            response = chunk.response or response
            if chunk.reasoning:
                self._emit(ReasoningDelta(chunk.reasoning))
            if chunk.text:
                self._emit(TextDelta(chunk.text))
        if response is None:
            raise ValueError("a model's stream ended without its response, which is the last chunk: see Model.stream")
        return response

    def _messages_for(self, model: Model) -> list[Message]:
        """Returns the messages for a model: thoughts of other providers do not leave with them."""
        provider = model.provider
        return [
            portable(entry.message)
            if entry.role == "assistant" and self._providers.get(entry.number) != provider
            else entry.message
            for entry in self.context.messages
        ]

    def _take(self, response: ModelResponse) -> None:
        entry = self.context.answered(response)
        if entry is not None:
            self._providers[entry.number] = response.provider
        self.answer = response
        self._open = response.tool_calls
        self.usage += response.usage
        facts = model_named(response.model, BY_NAME)
        cost = None if facts is None else facts.cost(response.usage)
        self.cost = None if cost is None or self.cost is None else self.cost + cost
        if self._emit is not None:
            self._emit(AnswerArrived(self.turn, response))

    def _output_error(self, response: ModelResponse) -> str | None:
        """Returns why a final answer is not of the agent's output type; None: it is, or it may be any text."""
        output: OutputType[Any] | None = self.agent.output_type
        if output is None or not response.done:
            return None
        try:
            output.read(response.text)
        except OutputInvalid as error:
            return str(error)
        return None

    # --- which model ------------------------------------------------------------------------------------------------

    def _situation(self) -> CallSituation:
        return CallSituation(
            messages=self.messages,
            tools=[*self.agent.tools],
            tokens=self.context.stats.tokens,
            turn=self.turn,
            agent=self.agent.name,
            tool=self._reads,
            default=self.agent.model.name,
            is_correction=self._corrects,
        )

    def _chosen(self, model: ModelLike | None) -> ModelLike:
        """Returns the model of a call, and records the choice if it is another one than the agent's."""
        default = self.agent.model
        if model is not None:
            change = _ModelChange(model, "chosen for this call")
        elif self._readers:  # of several, that of the last call in the model's order, whichever ended last
            change = self._readers[max(self._readers)]
        elif self._phase:
            change = self._phase[-1]
        else:
            return default
        if not _is_chooser(change.model):  # a chooser records its choices itself
            record_choice(_name(change.model), alternatives=[_name(default)], reason=change.reason)
        return change.model

    # --- tools ------------------------------------------------------------------------------------------------------

    async def execute(self, call: ToolCallRequest, *, model: ModelLike | None = None) -> str:
        """Executes a tool call of the last answer, after its approval, and returns the result as the model is given it.

        An error of the tool, a refusal and an unknown tool are results, too. Calls may be executed side by side
        (`asyncio.gather`): their results stand in the order in which the model asked. `model`: the one that reads the
        result, instead of the agent's. Raises only what stops the run.
        """
        if self._emit is not None:
            self._emit(ToolStarted(call))
        self._executing += 1
        try:
            result, is_error = await self._executed(call)
        finally:
            self._executing -= 1
        place = self._keep_result(call, result)
        self.tool_calls.append(ExecutedCall(call.id, call.name, call.arguments, result, is_error))
        reader = model if model is not None else self.agent.tool_models.get(call.name)
        if reader is not None and place is not None:
            self._readers[place] = _ModelChange(reader, f"reads the result of {call.name}")
        if self._emit is not None:
            self._emit(ToolEnded(call, result, is_error))
        return result

    def _keep_result(self, call: ToolCallRequest, result: str) -> int | None:
        """Keeps the result, and returns the place of the call in the last answer; None: it was not asked for there. Not
        by its id: ids may be missing, and one may be there twice."""
        places = (at for at, each in enumerate(self._open) if each == call and at not in self._results)
        place = next(places, None)
        if place is not None:
            self._results[place] = result
        return place

    async def _executed(self, call: ToolCallRequest) -> tuple[str, bool]:
        tool = self.agent.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.agent.tools) or "none"
            return f"Error: there is no tool {call.name!r}; the tools are {known}.", True
        try:
            await tool.approve(call, self.agent.approval)
            return result_text(await tool.run(call, self, in_thread=not self._blocking)), False
        except ReplayError:
            raise
        except Denied as error:
            return f"Denied: {error}", True
        except Exception as error:
            if is_run_stopped(error):
                raise
            return f"Error: {type(error).__name__}: {error}", True

    def _add_results(self) -> None:
        """Adds the results of the last answer's calls, in the order in which the model asked for them. A call that was
        not executed gets a result that says so: providers refuse calls without one. Then what was added meanwhile."""
        if self._open:
            self._reads = self._open[0].name
        for place, call in enumerate(self._open):
            result = self._results.get(place, _NOT_EXECUTED)
            self.context.add("tool", result, call=call.id, name=call.name)
        self._open, self._results = [], {}
        added, self._later = self._later, []
        for message in added:
            self.context.add(message.role, message.content, preserve=message.preserve, tags=message.tags)


def _is_chooser(model: ModelLike) -> bool:
    return isinstance(model, ModelChooser)


def _name(model: ModelLike) -> str:
    return model if isinstance(model, str) else model.name


def model_object(model: ModelLike) -> Model | ModelChooser:
    """Returns the model of a name; an object as it is."""
    return named(model) if isinstance(model, str) else model
