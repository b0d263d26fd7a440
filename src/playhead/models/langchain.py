"""Asks a chat model of LangChain, as it is configured. LangChain is in use already: nothing is imported before."""

from typing import TYPE_CHECKING, Any, Final

from playhead.capture.langchain.chat_models import chat_messages, langchain_messages
from playhead.model.json_value import int_at, text_at
from playhead.models.apis import CHAT
from playhead.models.model import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

# LangGraph streams no messages of calls with this tag to the readers of the agent's answer.
_CONFIG: Final["RunnableConfig"] = {"tags": ["nostream"], "metadata": {"lc_source": "summarization"}}


class LangChainModel:
    """A chat model of LangChain: any `BaseChatModel`."""

    def __init__(self, chat_model: "BaseChatModel") -> None:
        self.name = chat_model_name(chat_model)
        self._chat_model = chat_model

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        options: dict[str, Any] = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        options = {name: value for name, value in options.items() if value is not None}
        messages = langchain_messages([CHAT.from_message(message) for message in request.messages])
        answer: Any = self._chat_model.invoke(messages, _CONFIG, **options)
        about = answer.response_metadata
        return ModelResponse(
            CHAT.to_message(chat_messages([answer])[0]),
            text_at(about, "model_name", None) or self.name,
            int_at(answer.usage_metadata, "input_tokens", None),
            int_at(answer.usage_metadata, "output_tokens", None),
            text_at(about, "finish_reason", None) or text_at(about, "stop_reason", None),
        )


def chat_model_name(chat_model: "BaseChatModel") -> str:
    """Returns the name of the model as its provider has it; else that of the class."""
    named = (getattr(chat_model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in named if isinstance(name, str) and name), type(chat_model).__name__)
