"""The same conversation through each provider's client, against the mock model server without a socket."""

from collections.abc import Mapping

from tests.support.provider_chats.anthropic_messages import AnthropicMessages
from tests.support.provider_chats.chat import ProviderChat
from tests.support.provider_chats.gemini import Gemini
from tests.support.provider_chats.openai_chat import OpenAIChat
from tests.support.provider_chats.openai_responses import OpenAIResponses

CHATS: Mapping[str, type[ProviderChat]] = {
    "openai chat": OpenAIChat,
    "openai responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
    "gemini": Gemini,
}
