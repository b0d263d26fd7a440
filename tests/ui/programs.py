"""Runs for the browser's tests: one that fails, and one whose texts are HTML and SVG."""

import contextlib

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text

HOSTILE = '<img src=x onerror="window.hurt=true"><svg onload="window.hurt=true"><script>window.hurt=true</script>'


@observe(name="broken")
def broken() -> None:
    raise ValueError("this agent fails")


@observe(name="hostile")
def hostile(client: openai.OpenAI) -> str:
    answer = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "system", "content": HOSTILE}, {"role": "user", "content": HOSTILE}]
    )
    return answer.choices[0].message.content or ""


if __name__ == "__main__":
    playhead.instrument()
    with contextlib.suppress(ValueError):
        broken()
    with MockModelServer() as server:
        server.otherwise(text(HOSTILE))
        hostile(openai.OpenAI(base_url=server.base_url, api_key="none"))
    playhead.flush()
