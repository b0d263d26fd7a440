"""LangChain: a middleware that keeps what the model of an agent sees within its window.

    from playhead.context.langchain import CompressionMiddleware

    agent = create_agent("openai:gpt-5", middleware=[CompressionMiddleware(compression=Compression())])

It takes the place of LangChain's `SummarizationMiddleware`, accepts the same arguments, and changes the agent's state
as that one does: what was compressed is gone from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.chat_models import init_chat_model
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES  # pyright: ignore[reportMissingTypeStubs]
except ImportError as error:
    raise ImportError("playhead.context.langchain needs LangChain 1: pip install langchain") from error

from playhead.capture.langchain.chat_models import chat_messages, langchain_messages
from playhead.context.carried import MEMO_KEY, CarriedContext, CarriedMessage, MessageLeft, MessagesLeft, memo_of
from playhead.context.context import in_thread
from playhead.context.entries import SYSTEM
from playhead.context.keep import Keep, Messages
from playhead.context.plan import DEFAULT_PROMPT
from playhead.context.policy import AllOf, AnyCompression, Compression, Threshold, check_compression
from playhead.context.strategies import LlmSummary
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json, int_at, text_at
from playhead.model.message import Message
from playhead.models.apis import CHAT
from playhead.models.langchain import LangChainModel

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Size = tuple[Literal["fraction", "tokens", "messages"], float]
"""A share of the model's window, a number of tokens, or a number of messages."""
Trigger = Size | Mapping[str, float]
"""One size, or several that have to be reached together."""
State = AgentState[Any]


class CompressionMiddleware(AgentMiddleware[State, Any, Any]):
    """Compresses the messages of an agent before a model call, by a policy.

    `compression`: the policy, as for a `Context`. `model`: the chat model, or its name as `init_chat_model` takes it,
    that writes summaries for which the policy names none; its window is the limit where the policy has no other.

    In the place of `compression`, the arguments of `SummarizationMiddleware`: `trigger` (None: 70 % of the limit),
    `keep`, `summary_prompt`, `token_counter`, and `trim_tokens_to_summarize` (a longer conversation is not cut, but
    summarised in several calls). Raises ValueError for both kinds at once, and for sizes that are none.

    One middleware serves any number of agents, conversations and threads.
    """

    def __init__(
        self,
        model: str | BaseChatModel | None = None,
        *,
        compression: AnyCompression | None = None,
        trigger: Trigger | Sequence[Trigger] | None = None,
        keep: Size | None = None,
        summary_prompt: str | None = None,
        token_counter: Callable[[Iterable[Any]], int] | None = None,
        trim_tokens_to_summarize: int | None = None,
    ) -> None:
        super().__init__()
        others = (trigger, keep, summary_prompt, token_counter, trim_tokens_to_summarize)
        if compression is not None and any(value is not None for value in others):
            raise ValueError("CompressionMiddleware takes compression=, or the arguments of SummarizationMiddleware")
        check_compression(compression)
        self._compression: AnyCompression = compression or compression_of(
            trigger=trigger,
            keep=keep or ("messages", 20),
            summary_prompt=summary_prompt,
            token_counter=token_counter,
            trim_tokens_to_summarize=trim_tokens_to_summarize,
        )
        chat_model = init_chat_model(model) if isinstance(model, str) else model
        self._model = None if chat_model is None else LangChainModel(chat_model)
        self._profile_window = None if chat_model is None else _window_in_profile(chat_model)

    def before_model(self, state: State, runtime: "Runtime[Any]") -> dict[str, Any] | None:
        """Returns the compressed messages as a change of the state; None if no compression is due."""
        with guarded("compress the messages of an agent"):
            return _changes(self._context_of(state["messages"]).compressed())
        return None

    async def abefore_model(self, state: State, runtime: "Runtime[Any]") -> dict[str, Any] | None:
        """The same, without blocking the event loop: a model may be asked for a summary."""
        messages = state["messages"]
        with guarded("compress the messages of an agent"):
            context = await in_thread(lambda: self._context_of(messages))
            return _changes(await context.compressed_async())
        return None

    def _context_of(self, messages: Sequence[AnyMessage]) -> CarriedContext[AnyMessage]:
        carried = [one for message in messages for one in _carried(message)]
        return CarriedContext(carried, self._compression, self._model, window=self._profile_window)


def _changes(left: MessagesLeft[AnyMessage] | None) -> dict[str, Any] | None:
    return None if left is None else {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *_messages(left)]}


def _window_in_profile(chat_model: BaseChatModel) -> int | None:
    return int_at(getattr(chat_model, "profile", None), "max_input_tokens", None)  # since langchain-core 1.1


def compression_of(
    *,
    trigger: Trigger | Sequence[Trigger] | None = None,
    keep: Size = ("messages", 20),
    summary_prompt: str | None = None,
    token_counter: Callable[[Iterable[Any]], int] | None = None,
    trim_tokens_to_summarize: int | None = None,
) -> Compression:
    """Returns the policy that the arguments of `SummarizationMiddleware` describe. Raises ValueError for sizes that are
    none."""
    options: dict[str, Any] = {} if trigger is None else {"threshold": _thresholds(trigger)}
    strategy = LlmSummary(prompt=summary_prompt or DEFAULT_PROMPT, max_input_tokens=trim_tokens_to_summarize)
    count = None if token_counter is None else _count_with(token_counter)
    return Compression(keep=_keep(keep), strategy=strategy, count=count, **options)


def _thresholds(trigger: Trigger | Sequence[Trigger]) -> list[Threshold]:
    if isinstance(trigger, str):
        raise ValueError(
            f"trigger={trigger!r}: a pair such as ('fraction', 0.8) or ('messages', 100), or a list of these"
        )
    several = isinstance(trigger, Sequence) and not (trigger and isinstance(trigger[0], str))
    triggers: Any = trigger if several else [trigger]
    return [_threshold(each) for each in triggers]


def _threshold(trigger: Trigger) -> Threshold:
    sizes = trigger.items() if isinstance(trigger, Mapping) else [trigger]
    parts = [_part_of_threshold(kind, number) for kind, number in sizes]
    return parts[0] if len(parts) == 1 else AllOf(*parts)


def _part_of_threshold(kind: str, number: float) -> float | Messages:
    match kind:
        case "fraction" if 0 < number <= 1:
            return float(number)
        case "tokens" if number > 1:
            return int(number)
        case "messages":
            return Messages(int(number))
        case _:
            raise ValueError(f"trigger={(kind, number)!r}: a fraction up to 1, more than one of tokens, or messages")


def _keep(keep: Size) -> Keep:
    kind, number = keep
    match kind:
        case "fraction":
            return Keep(share=number)
        case "tokens":
            return Keep(tokens=int(number))
        case "messages":
            return Keep(messages=int(number))
        case _:
            raise ValueError(f"keep={keep!r}: one of fraction, tokens and messages")


def _count_with(token_counter: Callable[[Iterable[Any]], int]) -> Callable[[Message], int]:
    return lambda message: token_counter(langchain_messages([CHAT.from_message(message)]))


# --- messages ---------------------------------------------------------------------------------------------------------


def _carried(message: AnyMessage) -> list[CarriedMessage[AnyMessage]]:
    natives = chat_messages([message])
    model = tokens = None
    if isinstance(message, AIMessage):
        tokens = int_at(message.usage_metadata, "input_tokens", None)
        about: Json = message.response_metadata
        model = text_at(about, "model_name", None) or text_at(about, "model", None)
    last = len(natives) - 1
    memo = memo_of(message.additional_kwargs)
    return [
        CarriedMessage(native, message, tokens if at == 0 else None, model, memo if at == last else None)
        for at, native in enumerate(natives)
    ]


def _messages(left: MessagesLeft[AnyMessage]) -> list[AnyMessage]:
    messages: list[AnyMessage] = []
    for one in left.messages:
        if not messages or one.source is None or one.source is not messages[-1]:  # else another piece of it
            messages.append(_message(one))
    last = messages[-1]
    kwargs = {**last.additional_kwargs, MEMO_KEY: left.memo}
    return [*messages[:-1], last.model_copy(update={"additional_kwargs": kwargs})]


def _message(one: MessageLeft[AnyMessage]) -> AnyMessage:
    if one.source is None:
        kind = SystemMessage if one.role == SYSTEM else HumanMessage
        return kind(content=one.text or "", additional_kwargs={"lc_source": "summarization"})
    return one.source if one.text is None else one.source.model_copy(update={"content": one.text})
