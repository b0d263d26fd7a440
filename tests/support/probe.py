"""`python -m tests.support.probe PORT`: asks /healthz until stdin ends; prints the seconds that each answer took.

A process of its own, so that what it measures is the collector and not whoever attacks it.
"""

import http.client
import json
import select
import sys
import time


def main() -> None:
    taken: list[float] = []
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"status": "alive"})
        taken.append(time.perf_counter() - began)
        connection.close()
    sys.stdout.write(json.dumps(taken))


if __name__ == "__main__":
    main()
