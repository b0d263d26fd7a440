"""LiteLLM's Router behind Playhead's choice of a model.

The router spreads the calls of a group over deployments, and falls back to another group by itself; Playhead's `Select`
says which group a call is for, and why. The record has the choice, and one model call, which names the model that
answered. Needs no key and no network: the bundled mock model server answers.

    python examples/recipes/litellm_router.py
"""

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm

import playhead
from playhead.model.message import text_message
from playhead.models import LiteLLMModel, ModelRequest, Select, complete
from playhead.testing import MockModelServer, Rule, rate_limit, text


def deployment(group: str, model: str, url: str) -> dict[str, object]:
    """Returns an entry of the router's list of models."""
    return {"model_name": group, "litellm_params": {"model": f"openai/{model}", "api_base": url, "api_key": "no-key"}}


def main() -> None:
    with MockModelServer() as server:
        server.when(Rule("asks for large", lambda request: request.body["model"] == "large"), rate_limit())
        server.otherwise(text("A short answer."))
        playhead.instrument("litellm")
        litellm.suppress_debug_info = True
        url = server.base_url
        router = litellm.Router(
            model_list=[deployment("smart", "large", url), deployment("cheap", "small", url)],
            fallbacks=[{"smart": ["cheap"]}],
            num_retries=0,
        )
        groups = {name: LiteLLMModel(name, router=router) for name in ("smart", "cheap")}
        chooser = Select(
            lambda call: groups["smart"] if call.tokens > 50 else groups["cheap"], among=[*groups.values()]
        )
        with playhead.run("recipe"):
            for question in ("Hello", "Please explain. " + "All of it. " * 30):
                answer = complete(chooser, ModelRequest([text_message("user", question)]))
                print(answer.model, answer.text)
        playhead.flush()


if __name__ == "__main__":
    main()
