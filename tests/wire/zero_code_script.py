"""A script that asks a model three times, knowing nothing of Playhead; run by `test_zero_code.py`."""

import time

import openai


def ask(question: str) -> str:
    answer = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    return answer.choices[0].message.content or ""


if __name__ == "__main__":
    for question in ("one", "two", "three"):
        time.sleep(0)
        print(ask(question))  # noqa: T201 - what it prints is what the test reads
