"""A chat that goes through a queue by reference, step by step.

A queue stores what it is given: with the list of messages, each step stores the chat once more. A history is handed on
as a ref of about 100 bytes while a collector answers, and as the list while none does. Needs no key and no network.

    python examples/history_queue.py
"""

import json
import queue
import threading

import playhead
from playhead.model.message import text_message
from playhead.models import MockModel, ModelRequest, complete

# In your program: playhead.models.named("gpt-4o").
MODEL = MockModel("I see.", name="small")
QUESTIONS = ["It does not start.", "Yes, it is plugged in.", "The light is green."]

jobs: "queue.Queue[str | None]" = queue.Queue()
done: "queue.Queue[str]" = queue.Queue()


def answer(messages: list[dict[str, str]]) -> str:
    asked = [text_message(message["role"], message["content"]) for message in messages]
    return complete(MODEL, ModelRequest(asked)).text


def worker() -> None:
    """Another process, in a real program: it has nothing but the text."""
    while (job := jobs.get()) is not None:
        history = playhead.History.load(json.loads(job))
        with playhead.run("step", session="ticket-7"):
            history.call(answer)
        history.persist()
        done.put(json.dumps(history.to_json()))


def main() -> None:
    thread = threading.Thread(target=worker)
    thread.start()
    history = playhead.History([{"role": "system", "content": "You help. " * 200}], scope="ticket-7")
    for question in QUESTIONS:
        history.append("user", question)
        history.persist()
        sent = json.dumps(history.to_json())
        jobs.put(sent)
        history = playhead.History.load(json.loads(done.get()))
        print(f"{len(history)} messages, {len(sent)} bytes in the queue")
    jobs.put(None)
    thread.join()
    print(history[-1].text)
    playhead.flush(5)


if __name__ == "__main__":
    main()
