"""Asks a chat model of LangChain, as it is configured. LangChain is in use already: nothing is imported before."""

from typing import TYPE_CHECKING, Any, Final

from playhead.capture.langchain.chat_models import chat_messages, langchain_messages
from playhead.model.event import TokenUsage
from playhead.model.json_value import int_at, object_at, text_at
from playhead.models.api_requests import instructed
from playhead.models.apis import CHAT
from playhead.models.model import Model, ModelRequest, ModelResponse, stop_reason_of, tool_json

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

# LangGraph streams no messages of calls with this tag to the readers of the agent's answer.
_CONFIG: Final["RunnableConfig"] = {"tags": ["nostream"], "metadata": {"lc_source": "summarization"}}


class LangChainModel(Model):
    """A chat model of LangChain: any `BaseChatModel`.

    A schema of the answer is given as an instruction. LangChain has no common setting for thinking: configure it on the
    chat model.
    """

    def __init__(self, chat_model: "BaseChatModel") -> None:
        self._chat_model = chat_model

    @property
    def name(self) -> str:
        """The model's name; see `chat_model_name`."""
        return chat_model_name(self._chat_model)

    @property
    def provider(self) -> str:
        """LangChain, which keeps thoughts in a form of its own."""
        return "langchain"

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        messages, options = _arguments(request)
        return self._response(self._with_tools(request).invoke(messages, _CONFIG, **options))

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        messages, options = _arguments(request)
        return self._response(await self._with_tools(request).ainvoke(messages, _CONFIG, **options))

    def _with_tools(self, request: ModelRequest) -> Any:
        tools = [tool_json(tool) for tool in request.tools]
        return self._chat_model.bind_tools(tools) if tools else self._chat_model

    def _response(self, answer: Any) -> ModelResponse:
        message = CHAT.to_message(chat_messages([answer])[0])
        about = answer.response_metadata
        reason = text_at(about, "finish_reason", None) or text_at(about, "stop_reason", None)
        return ModelResponse(
            message,
            text_at(about, "model_name", None) or self.name,
            _usage(answer.usage_metadata),
            stop_reason_of(reason, message),
            reason,
            self.provider,
        )


def _arguments(request: ModelRequest) -> tuple[list[Any], dict[str, Any]]:
    """Returns messages and options for a chat model."""
    options: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "model": request.model,
    }
    messages = langchain_messages([CHAT.from_message(message) for message in instructed(request)])
    return [*messages], {name: value for name, value in options.items() if value is not None}


def _usage(reported: object) -> TokenUsage:
    given, made = object_at(reported, "input_token_details"), object_at(reported, "output_token_details")
    return TokenUsage(
        int_at(reported, "input_tokens", None),
        int_at(reported, "output_tokens", None),
        int_at(given, "cache_read", None),
        int_at(given, "cache_creation", None),
        int_at(made, "reasoning", None),
    )


def chat_model_name(chat_model: "BaseChatModel") -> str:
    """Returns the name of the model as its provider has it; else that of the class."""
    named = (getattr(chat_model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in named if isinstance(name, str) and name), type(chat_model).__name__)
