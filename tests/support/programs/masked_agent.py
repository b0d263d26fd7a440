"""An agent with a tool and a model: killed after both have answered, and resumed on another machine.

    python -m tests.support.programs.masked_agent COLLECTOR MODEL_SERVER JOURNAL [RUN [SPAN]]

Without RUN it records one, prints its id and kills itself. With RUN it resumes it, executing the call with the id SPAN
again, and prints the answer.
"""

# ruff: noqa: T201 - the test reads what it prints
import os
import signal
import sys
from typing import Any

import openai

import playhead


@playhead.observe(kind="tool", idempotent=True)
def find_address(name: str) -> dict[str, str]:
    print("executed", flush=True)
    return {"name": name, "mail": "jo.secret@example.com"}


@playhead.observe
def agent(client: openai.OpenAI, *, dies: bool) -> str:
    address = find_address("Jo")
    asked: Any = [{"role": "user", "content": f"Greet {address['name']}"}]
    said = client.chat.completions.create(model="m", messages=asked).choices[0].message.content or ""
    if dies:
        playhead.flush(60)
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{said} {address['mail']}"


def main(collector: str, models: str, journal: str, run: str = "", again: str = "") -> None:
    playhead.configure(endpoint=collector, journal_dir=journal)
    playhead.instrument("openai")
    with openai.OpenAI(base_url=models, api_key="none") as client:
        if not run:
            with playhead.run("greeting") as recorded:
                print(recorded.id, flush=True)
                agent(client, dies=True)
        outcomes = {again: playhead.RERUN} if again else None
        # By force: nobody waits until the collector is sure that the killed process sends nothing any more.
        with playhead.resume(run, outcomes=outcomes, force=True), playhead.run("greeting"):
            print(agent(client, dies=False), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
