"""An agent of two model calls and a tool, by a provider's client. `DIES`: it is killed before its second model call."""

import json
import os
import signal

import playhead

PROVIDER, MODEL = os.environ["PROVIDER"], os.environ["MODEL"]


def ask_openai(prompt: str) -> str:
    import openai

    answer = openai.OpenAI().chat.completions.create(model=MODEL, messages=[{"role": "user", "content": prompt}])
    return answer.choices[0].message.content or ""


def ask_anthropic(prompt: str) -> str:
    import anthropic

    answer = anthropic.Anthropic().messages.create(
        model=MODEL, max_tokens=200, messages=[{"role": "user", "content": prompt}]
    )
    return "".join(block.text for block in answer.content if block.type == "text")


def ask_gemini(prompt: str) -> str:
    from google import genai

    client = genai.Client()  # closed when it is collected
    return client.models.generate_content(model=MODEL, contents=prompt).text or ""


ASK = {"openai": ask_openai, "anthropic": ask_anthropic, "gemini": ask_gemini}[PROVIDER]


@playhead.observe(kind="tool", idempotent=True)
def order_status(order: str) -> dict[str, str]:
    return {"order": order, "status": "delayed"}


@playhead.observe
def agent(question: str) -> dict[str, str]:
    first = ASK(f"{question} Answer with the order's name alone.")
    status = order_status("A1")
    if os.environ.get("DIES"):
        print(json.dumps({"first": first}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"first": first, "second": ASK(f"Say in five words: {json.dumps(status)}")}


playhead.instrument({"gemini": "google.genai"}.get(PROVIDER, PROVIDER))
print(json.dumps(agent("Which order is late, A1?")), flush=True)
