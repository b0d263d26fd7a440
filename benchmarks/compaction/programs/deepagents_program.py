"""deepagents' SummarizationMiddleware: which messages it hands on to the model. It is made as its own function
`create_summarization_middleware` makes it, but for the size of what stays.

By default, it keeps a share of the window when another share of it is reached: together, a share of the messages.
"""

import os
import tempfile
from importlib.metadata import version

from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import (
    SUMMARIZATION_SESSION_ID_KEY,
    SummarizationMiddleware,
    compute_summarization_defaults,
)
from jobs import serve
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_openai import ChatOpenAI

ADDRESS = {"model": "gpt-4o", "base_url": os.environ["MODEL_URL"] + "/v1", "api_key": "none"}
# Without a profile: a window so small that these messages fill it has no room for the frame of the summary.
MODEL = ChatOpenAI(**ADDRESS, profile={})
# As long as its own ids, which are random: the model is told the id, and its digits would be facts.
SESSION = "session_" + 32 * "a"


def default_share():
    defaults = compute_summarization_defaults(ChatOpenAI(**ADDRESS, profile={"max_input_tokens": 100_000}))
    (unit, keep), (same, trigger) = defaults["keep"], defaults["trigger"]
    assert unit == same == "fraction"
    return keep / trigger


def compact(system, messages, keep):
    with tempfile.TemporaryDirectory() as folder:
        return _compact(messages, keep, FilesystemBackend(root_dir=folder, virtual_mode=True))


def _compact(messages, keep, backend):
    given = convert_to_messages(messages)
    stays = ("tokens", int((keep or default_share()) * count_tokens_approximately(given)))
    middleware = SummarizationMiddleware(
        MODEL,
        backend=backend,
        trigger=("messages", 1),
        keep=stays,
        trim_tokens_to_summarize=None,
        truncate_args_settings={"trigger": ("messages", 1), "keep": stays},
    )
    seen = []

    def model_call(request):
        seen.extend(request.messages)
        return ModelResponse(result=[AIMessage("")])

    state = {"messages": given, SUMMARIZATION_SESSION_ID_KEY: SESSION}
    request = ModelRequest(model=MODEL, messages=given, tools=[], state=state, runtime=None)
    middleware.wrap_model_call(request, model_call)
    return convert_to_openai_messages(seen)


serve(version("deepagents"), compact)
