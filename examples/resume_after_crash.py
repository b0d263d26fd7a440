"""An agent dies between two steps; the same code, run again, goes on where it died.

    python examples/resume_after_crash.py

The first process is cut off after it has charged the customer and before it has written to them. The second one is
given the run's id: what was done is answered from the record in the local journal, and no customer is charged twice.
Nothing is set up for this: models are answered by a server of its own, and no collector runs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text


@observe(kind="tool")
def charge(customer: str, amount: float) -> dict[str, Any]:
    # A provider that is told the key, too, would notice a second attempt even if this one was cut off half-way.
    print(f"  charging {customer} {amount} (idempotency key {playhead.idempotency_key()})")
    return {"customer": customer, "charged": amount}


@observe(kind="tool")
def send_mail(customer: str, body: str) -> str:
    print(f"  mailing {customer}: {body}")
    return "sent"


@observe
def agent(customer: str) -> str:
    client = openai.OpenAI()

    def ask(question: str) -> str:
        asked: Any = [{"role": "user", "content": question}]
        return client.chat.completions.create(model="gpt-4o-mini", messages=asked).choices[0].message.content or ""

    amount = float(ask(f"What does {customer} owe?"))
    receipt = charge(customer, amount)
    if os.environ.get("CRASH"):
        print("  ... and the power is gone", flush=True)
        os._exit(1)  # no exception, no exit handlers: nothing can be saved now
    body = ask(f"Write a receipt for {receipt['charged']}")
    return send_mail(customer, body)


def main() -> None:
    """Runs the agent in a process that dies, and again in one that does not."""
    with tempfile.TemporaryDirectory() as journal, MockModelServer() as server:
        server.when(contains("owe"), text("89.00"))
        server.otherwise(text("Thank you for paying 89.00."))
        set_up = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "PLAYHEAD_JOURNAL_DIR": journal}
        patience = os.environ.get(
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0.1"
        )  # nobody listens, unless you start a collector
        set_up |= {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": patience, "RUN_ID_FILE": str(Path(journal) / "run")}
        command = [sys.executable, __file__, "agent"]
        print("first process:", flush=True)
        subprocess.run(command, env=os.environ | set_up | {"CRASH": "yes"}, check=False)  # noqa: S603 - this file
        run_id = (Path(journal) / "run").read_text()
        print(f"second process, with PLAYHEAD_RESUME={run_id}:", flush=True)
        subprocess.run(command, env=os.environ | set_up | {"PLAYHEAD_RESUME": run_id}, check=True)  # noqa: S603 - as above
        print(f"the model was asked {len(server.requests)} times in all")


if __name__ == "__main__":
    if sys.argv[1:] == ["agent"]:
        playhead.instrument("openai")
        with playhead.run("receipts") as run:
            Path(os.environ["RUN_ID_FILE"]).write_text(str(run.id))
            print(f"  the agent returned: {agent('Ada')}", flush=True)
    else:
        main()
