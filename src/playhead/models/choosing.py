"""Calls of a model that is chosen per attempt: the protocol of choosers, and the loop over attempts.

A chooser is asked before each attempt, and told what failed. The request is made for the model that it returned, so
that a model with a smaller window gets a shorter context. Each attempt is a recorded call of its own.

    response = complete(chooser, ModelRequest([text_message("user", "Hello")]))
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from playhead.api.scope import annotate
from playhead.errors import is_run_stopped
from playhead.model.message import Message
from playhead.model.token_estimates import estimate_all
from playhead.models.clients import named
from playhead.models.failures import ModelFailure, failure_of
from playhead.models.model import Model, ModelChunk, ModelRequest, ModelResponse, ModelUnavailable
from playhead.models.recorded import ask, ask_async, ask_stream, ask_stream_async


@dataclass(frozen=True, slots=True)
class CallSituation:
    """What a chooser may look at. `messages`: the context before it is made shorter for a model. `tools`: names of
    those that the model may ask for. `tokens`: of the context, as last reported, else an estimate. `turn`: number of
    the call in its agent, from 1. `agent`, `task`: names; None outside one. `tool`: the tool whose result this call
    reads first; None: it reads none. `default`: the name of the model that the agent has without a choice.
    `is_correction`: the newest message is not the user's, but says what was wrong with the last answer."""

    messages: Sequence[Message] = ()
    tools: Sequence[str] = ()
    tokens: int = 0
    turn: int = 1
    agent: str | None = None
    task: str | None = None
    tool: str | None = None
    default: str | None = None
    is_correction: bool = False

    @classmethod
    def of_request(cls, request: ModelRequest) -> "CallSituation":
        """Returns the situation of a request outside an agent."""
        thread = request.thread
        return cls(thread, [tool.name for tool in request.tools], round(estimate_all(thread)))


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt of this call that failed. `failure`: what the error means; None: none of the known failures."""

    model: str
    error: Exception
    failure: ModelFailure | None = field(default=None)


class ModelChooser(ABC):
    """Chooses a model for each attempt of a call. It is a model itself: `complete` and the others make the attempts.

    Kept by the program and used by many calls, threads and tasks at once. Must choose the same in a resumed run: by the
    situation, the failures, what `completed` said, and `playhead.now()`.
    """

    name: str = "chooser"

    @abstractmethod
    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> "Model | ModelChooser | str | None":
        """Returns the model for the next attempt (an object, a name, or another chooser). None: no further attempt, and
        the last error is raised. `failed`: the attempts of this call so far, in their order; empty before the first.

        Records the choice with `record_choice`, once per attempt, if there was more than one model."""

    async def choose_async(
        self, situation: CallSituation, failed: Sequence[FailedAttempt]
    ) -> "Model | ModelChooser | str | None":
        """The same; for choosers that ask a model, without blocking the event loop."""
        return self.choose(situation, failed)

    def completed(self, situation: CallSituation, response: ModelResponse) -> None:  # noqa: B027 - most need none
        """Called after each successful attempt of a call that this chooser chose, also when the record answered it."""

    # --- as a model -------------------------------------------------------------------------------------------------

    @property
    def provider(self) -> str:
        """Nobody's: each attempt has its own."""
        return ""

    @property
    def supports_thinking(self) -> bool:
        """Asks for thinking; each attempt is asked only where its model supports it."""
        return True

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer of the first attempt that succeeds."""
        return complete(self, request)

    def stream(self, request: ModelRequest) -> Iterator[ModelChunk]:
        """Yields the answer of the first attempt that begins to arrive; after that, an error is raised."""
        yield from stream(self, request)

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """The same as `complete`."""
        return await complete_async(self, request)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same as `stream`."""
        async for chunk in stream_async(self, request):
            yield chunk


ModelLike = Model | ModelChooser | str
"""A model, its name, or a chooser."""


def record_choice(chosen: str, *, alternatives: Sequence[str], reason: str) -> None:
    """Records the choice of a model as `orchestration_decision`, before the call. Outside a run, does nothing."""
    annotate(decision=chosen, reason=reason, alternatives=[*alternatives], kind="model")


# --- the attempts of one call -----------------------------------------------------------------------------------------

Prepare = Callable[[Model], ModelRequest]
"""Makes the request for the model of an attempt."""
PrepareAsync = Callable[[Model], Awaitable[ModelRequest]]


def complete(
    model: ModelLike, request: ModelRequest | Prepare, situation: CallSituation | None = None
) -> ModelResponse:
    """Returns the answer; a chooser is asked for the model of each attempt. In a run, each attempt is recorded once.

    `request`: the request, or a function that makes it for the model of an attempt. `situation`: for choosers; None:
    that of the request, which must then be given itself. Raises the last error when no attempt is left."""
    prepare, situation = _prepared(request, situation)
    if not isinstance(model, ModelChooser):
        asked = _model_of(model)
        return ask(asked, _fitted(prepare(asked), asked))
    failed: list[FailedAttempt] = []
    while True:
        chosen = _chosen(model.choose(situation, failed), failed)
        try:
            response = complete(chosen, prepare, situation)
        except Exception as error:  # noqa: BLE001 - which errors call for another attempt is the chooser's to say
            failed.append(_failed(chosen, error))
            continue
        model.completed(situation, response)
        return response


async def complete_async(
    model: ModelLike, request: ModelRequest | PrepareAsync, situation: CallSituation | None = None
) -> ModelResponse:
    """The same as `complete`, without blocking the event loop."""
    prepare, situation = _prepared_async(request, situation)
    if not isinstance(model, ModelChooser):
        asked = _model_of(model)
        return await ask_async(asked, _fitted(await prepare(asked), asked))
    failed: list[FailedAttempt] = []
    while True:
        chosen = _chosen(await model.choose_async(situation, failed), failed)
        try:
            response = await complete_async(chosen, prepare, situation)
        except Exception as error:  # noqa: BLE001 - as in `complete`
            failed.append(_failed(chosen, error))
            continue
        model.completed(situation, response)
        return response


def stream(
    model: ModelLike, request: ModelRequest | Prepare, situation: CallSituation | None = None
) -> Iterator[ModelChunk]:
    """Yields the answer in pieces; see `complete`. After the first chunk of an attempt, no other attempt is made."""
    prepare, situation = _prepared(request, situation)
    if not isinstance(model, ModelChooser):
        asked = _model_of(model)
        yield from ask_stream(asked, _fitted(prepare(asked), asked))
        return
    failed: list[FailedAttempt] = []
    while True:
        chosen = _chosen(model.choose(situation, failed), failed)
        begun = False
        try:
            for chunk in stream(chosen, prepare, situation):
                begun = True
                if chunk.response is not None:
                    model.completed(situation, chunk.response)
                yield chunk
        except Exception as error:
            if begun:
                raise
            failed.append(_failed(chosen, error))
            continue
        return


async def stream_async(
    model: ModelLike, request: ModelRequest | PrepareAsync, situation: CallSituation | None = None
) -> AsyncIterator[ModelChunk]:
    """The same as `stream`, without blocking the event loop."""
    prepare, situation = _prepared_async(request, situation)
    if not isinstance(model, ModelChooser):
        asked = _model_of(model)
        async for chunk in ask_stream_async(asked, _fitted(await prepare(asked), asked)):
            yield chunk
        return
    failed: list[FailedAttempt] = []
    while True:
        chosen = _chosen(await model.choose_async(situation, failed), failed)
        begun = False
        try:
            async for chunk in stream_async(chosen, prepare, situation):
                begun = True
                if chunk.response is not None:
                    model.completed(situation, chunk.response)
                yield chunk
        except Exception as error:
            if begun:
                raise
            failed.append(_failed(chosen, error))
            continue
        return


def _prepared(request: ModelRequest | Prepare, situation: CallSituation | None) -> tuple[Prepare, CallSituation]:
    if isinstance(request, ModelRequest):
        return lambda _: request, situation or CallSituation.of_request(request)
    return request, situation or CallSituation()


def _prepared_async(
    request: ModelRequest | PrepareAsync, situation: CallSituation | None
) -> tuple[PrepareAsync, CallSituation]:
    if not isinstance(request, ModelRequest):
        return request, situation or CallSituation()

    async def same(_: Model) -> ModelRequest:
        return request

    return same, situation or CallSituation.of_request(request)


def _model_of(model: Model | str) -> Model:
    return named(model) if isinstance(model, str) else model


def _fitted(request: ModelRequest, model: Model) -> ModelRequest:
    """Returns the request without thinking, if the model cannot."""
    return replace(request, thinking=False) if request.thinking and not model.supports_thinking else request


def _chosen(choice: ModelLike | None, failed: Sequence[FailedAttempt]) -> Model | ModelChooser:
    if choice is not None:
        return named(choice) if isinstance(choice, str) else choice
    if failed:
        raise failed[-1].error
    raise ModelUnavailable("a chooser returned no model for the first attempt of a call: it must return one")


def _failed(chosen: Model | ModelChooser, error: Exception) -> FailedAttempt:
    """Returns the failed attempt; raises the error itself where the run stops."""
    if is_run_stopped(error):
        raise error
    return FailedAttempt(chosen.name, error, failure_of(error))
