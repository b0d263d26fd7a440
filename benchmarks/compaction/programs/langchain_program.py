"""LangChain's SummarizationMiddleware: what its hook before a model call leaves of each job's messages."""

import os
from importlib.metadata import version

from jobs import serve
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import RemoveMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_openai import ChatOpenAI

MODEL = ChatOpenAI(model="gpt-4o", base_url=os.environ["MODEL_URL"] + "/v1", api_key="none")


def compact(system, messages, keep):
    given = convert_to_messages(messages)
    sizes = {} if keep is None else {"keep": ("tokens", int(keep * count_tokens_approximately(given)))}
    middleware = SummarizationMiddleware(MODEL, trigger=("messages", 1), **sizes)
    update = middleware.before_model({"messages": given}, None)
    left = given if update is None else [each for each in update["messages"] if not isinstance(each, RemoveMessage)]
    return convert_to_openai_messages(left)


serve(version("langchain"), compact)
