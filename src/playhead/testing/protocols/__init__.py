"""HTTP request → [protocols] → rules → answers → [protocols] → HTTP response. The APIs of the providers.

One module per API, with the interface `ModelProtocol`; `made` lists them. A protocol translates each request into the
equivalent chat completion request, so that rules and answers are the same for all of them.
"""

from playhead.testing.protocols.anthropic import AnthropicMessages
from playhead.testing.protocols.bedrock_converse import BedrockConverse
from playhead.testing.protocols.bedrock_invoke import BedrockInvoke
from playhead.testing.protocols.cohere import Cohere
from playhead.testing.protocols.gemini import Gemini
from playhead.testing.protocols.google_embeddings import GoogleEmbeddings
from playhead.testing.protocols.huggingface import HuggingFaceTasks
from playhead.testing.protocols.mistral import MistralChat, MistralEmbeddings
from playhead.testing.protocols.ollama import Ollama
from playhead.testing.protocols.openai_chat import OpenAIChat
from playhead.testing.protocols.openai_completions import OpenAICompletions
from playhead.testing.protocols.openai_embeddings import OpenAIEmbeddings
from playhead.testing.protocols.openai_responses import OpenAIResponses
from playhead.testing.protocols.protocol import ModelProtocol


def made() -> tuple[ModelProtocol, ...]:
    """Makes an instance of each protocol, for one server."""
    return (
        OpenAIChat(),
        OpenAIResponses(),
        OpenAICompletions(),
        OpenAIEmbeddings(),
        AnthropicMessages(),
        Gemini(),
        GoogleEmbeddings(),
        HuggingFaceTasks(),
        BedrockConverse(),
        BedrockInvoke(),
        Cohere(),
        MistralChat(),
        MistralEmbeddings(),
        Ollama(),
    )
