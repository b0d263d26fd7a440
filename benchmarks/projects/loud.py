"""A loud project: senders in a process of their own that offer a collector many requests, however they are answered.

    python -m benchmarks.projects.loud URL KEY REQUESTS_PER_SECOND SECONDS

Prints `statuses` as JSON at the end. With 0 requests per second, four senders each wait for their answers: what they
get acknowledged is what the collector can take.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.support.made_up_runs import PROTOBUF
from tests.support.overload import SPANS_PER_REQUEST, Template

_SENDERS, _WAITING_SENDERS = 64, 4
# Senders would be on other machines: they take only what the collector and its database leave of this one.
_NICE = 10
__all__ = ["SPANS_PER_REQUEST", "Loud", "capacity", "offering"]


@dataclass
class Loud:
    """What a loud project was answered: requests by status, of `seconds`."""

    statuses: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0

    def per_second(self, status: str | None = None) -> float:
        """Requests per second, of all or with this status."""
        count = sum(self.statuses.values()) if status is None else self.statuses.get(status, 0)
        return count / (self.seconds or 1.0)


def capacity(url: str, key: str, seconds: float) -> float:
    """Requests per second that a collector takes of senders that wait for its answers."""
    with offering(url, key, 0.0, seconds) as loud:
        pass
    return loud.per_second("200")


@contextmanager
def offering(url: str, key: str, requests_per_second: float, seconds: float) -> Generator[Loud]:
    """Offers requests in another process until it has done so for so many seconds; the block begins when the first is
    answered, and may end before or after that."""
    command = [sys.executable, "-m", "benchmarks.projects.loud", url, key, str(requests_per_second), str(seconds)]
    loud = Loud()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != "answered":
                raise RuntimeError("the loud project got no answer")
            yield loud
            answer = json.loads(process.stdout.read())
            loud.statuses, loud.seconds = answer["statuses"], answer["seconds"]
        finally:
            process.terminate()


def _main(url: str, key: str, requests_per_second: float, seconds: float) -> None:
    os.nice(_NICE)
    headers = {"authorization": f"Bearer {key}"}
    template = Template(url, headers)
    statuses: Counter[str] = Counter()
    lock, answered = threading.Lock(), threading.Event()
    began = time.perf_counter()
    senders = _SENDERS if requests_per_second else _WAITING_SENDERS
    pause = senders / requests_per_second if requests_per_second else 0.0

    def send(until: float) -> None:
        due = time.perf_counter() + random.random() * pause
        with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as http:
            while (now := time.perf_counter()) < until:
                if now < due:
                    time.sleep(min(due, until) - now)
                due = max(due + pause, time.perf_counter() - pause)
                _, body = template.copy()
                status = str(http.post("/v1/traces", content=body, headers={"content-type": PROTOBUF}).status_code)
                with lock:
                    statuses[status] += 1
                if not answered.is_set():
                    answered.set()
                    print("answered", flush=True)

    with ThreadPoolExecutor(senders) as threads:
        for sending in [threads.submit(send, began + seconds) for _ in range(senders)]:
            sending.result()
    result: Mapping[str, object] = {"statuses": dict(statuses), "seconds": time.perf_counter() - began}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
