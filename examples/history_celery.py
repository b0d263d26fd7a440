"""A chat that goes through Celery by reference, over its filesystem transport: no broker, no key, no network.

    pip install celery
    python examples/history_celery.py

Starts a worker of its own, and talks to it through a temporary folder. With Redis or RabbitMQ, only the addresses
differ.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from celery import Celery

import playhead

GIVEN = os.environ.get("QUEUE")  # in the worker
FOLDER = Path(GIVEN or tempfile.mkdtemp(prefix="history-celery-"))
app = Celery("history_celery", broker="filesystem://", backend=(FOLDER / "results").as_uri())
app.conf.update(
    broker_transport_options={
        "data_folder_in": str(FOLDER / "queue"),
        "data_folder_out": str(FOLDER / "queue"),
        "control_folder": str(FOLDER / "control"),
    },
    task_serializer="json",
    result_serializer="json",
    accept_content=["json"],
)


@app.task(name="step")
def step(value: object) -> object:
    """Takes a history, asks, and returns it with the answer."""
    history = playhead.History.load(value)
    with playhead.run("step"):
        history.call(lambda messages: f"I have read {len(messages)} messages")  # in your program: a model
    history.persist()
    return history.to_json()


def worker() -> "subprocess.Popen[bytes]":
    """Starts a worker in a process of its own."""
    for name in ("queue", "results", "control"):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "celery", "-A", "history_celery", "worker", "--pool=solo", "--loglevel=warning"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    environ = {**os.environ, "QUEUE": str(FOLDER)}
    return subprocess.Popen(command, cwd=Path(__file__).parent, env=environ)  # noqa: S603 - our own command


def main() -> None:
    with worker() as process:
        try:
            history = playhead.History([{"role": "user", "content": f"message {number}"} for number in range(100)])
            history.persist()
            for _ in range(2):
                sent = step.delay(history.to_json())
                history = playhead.History.load(sent.get(timeout=60))
                print(len(history), history[-1].text)
        finally:
            process.terminate()


if __name__ == "__main__":
    try:
        main()
    finally:
        if not GIVEN:
            shutil.rmtree(FOLDER)
