"""Stacks as programs write them: lines, whose code it is, and the exceptions behind one."""

import asyncio
import traceback
from functools import partial

import pytest

from playhead_collector.analysis.turns.stack_text import MAX_FRAMES, parse_stack
from tests.support.processor_time import assert_takes_less_than

PYTHON = """Traceback (most recent call last):
  File "/app/parallel_review.py", line 52, in plan
    return await asyncio.wait_for(connect(), 2.4)
           ~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/asyncio/tasks.py", line 520, in wait_for
    return await fut
TimeoutError: timed out

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  ... 3 outer frames are left out
  File "/app/parallel_review.py", line 71, in review
    await plan()
  File "/venv/lib/python3.12/site-packages/playhead/api/observe.py", line 9, in wrapper
  File "/app/parallel_review.py", line 54, in plan
    raise ConnectionError(why) from error
ConnectionError: db-staging:5432 did not answer
within 2.4 s
"""

JAVASCRIPT = """TypeError: Cannot read properties of undefined (reading 'id')
    at getUser (/app/src/users.js:10:15)
    at async Promise.all (index 0)
    at async handle (file:///app/src/server.mjs:31:3)
    at Layer.handle [as handle_request] (/app/node_modules/express/lib/router/layer.js:95:5)
    at processTicksAndRejections (node:internal/process/task_queues:95:5)
    at /app/src/index.js:3:1 {
  [cause]: Error: no such user
      at find (/app/src/db.js:7:9)
}
"""

JAVA = """Exception in thread "main" com.shop.OrderException: order 7 is lost
\tat com.shop.Orders.find(Orders.java:41)
\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1596)
\tat com.shop.Main.main(Main.java:12)
Caused by: java.net.ConnectException: refused
\tat java.base/sun.nio.ch.Net.connect(Native Method)
\tat com.shop.Database.open(Database.java:8)
\t... 2 more
"""


def test_a_python_traceback_with_its_cause():
    stack = parse_stack(PYTHON)
    assert [(frame["function"], frame["line"], frame["library"]) for frame in stack.frames] == [
        ("review", 71, False), ("wrapper", 9, True), ("plan", 54, False),
    ]  # fmt: skip
    assert stack.frames[0]["code"] == "await plan()"
    assert stack.frames[1]["code"] is None
    assert stack.at == {
        "file": "/app/parallel_review.py", "line": 54, "function": "plan",
        "code": "raise ConnectionError(why) from error", "library": False,
    }  # fmt: skip
    (cause,) = stack.causes
    assert (cause["type"], cause["message"], cause["at"] and cause["at"]["line"]) == ("TimeoutError", "timed out", 52)


def test_a_javascript_stack_with_its_cause():
    stack = parse_stack(JAVASCRIPT.replace(" {\n", "\n"))
    assert [(frame["file"], frame["line"], frame["library"]) for frame in stack.frames] == [
        ("/app/src/index.js", 3, False),
        ("node:internal/process/task_queues", 95, True),
        ("/app/node_modules/express/lib/router/layer.js", 95, True),
        ("/app/src/server.mjs", 31, False),
        ("/app/src/users.js", 10, False),
    ]
    assert stack.at is not None
    assert (stack.at["function"], stack.frames[3]["function"]) == ("getUser", "handle")
    (cause,) = stack.causes
    assert (cause["type"], cause["message"], cause["at"] and cause["at"]["file"]) == (
        "Error", "no such user", "/app/src/db.js",
    )  # fmt: skip


def test_a_java_stack_with_its_cause():
    stack = parse_stack(JAVA)
    assert [(frame["function"], frame["line"], frame["library"]) for frame in stack.frames] == [
        ("com.shop.Main.main", 12, False),
        ("java.base/java.util.ArrayList.forEach", 1596, True),
        ("com.shop.Orders.find", 41, False),
    ]
    assert stack.at is not None
    assert (stack.at["file"], stack.at["line"]) == ("Orders.java", 41)
    (cause,) = stack.causes
    assert (cause["type"], cause["message"]) == ("java.net.ConnectException", "refused")
    assert cause["at"] is not None
    assert cause["at"]["function"] == "com.shop.Database.open"


def boom() -> None:
    raise ValueError("no\nsuch thing")


def test_what_this_python_prints_is_read():
    try:
        try:
            boom()
        except ValueError as error:
            raise KeyError("outer") from error
    except KeyError:
        stack = parse_stack(traceback.format_exc())
    assert [(cause["type"], cause["message"]) for cause in stack.causes] == [("ValueError", "no\nsuch thing")]
    assert stack.causes[0]["at"] is not None
    assert stack.causes[0]["at"]["function"] == "boom"
    assert stack.at is not None
    assert stack.at["code"] == 'raise KeyError("outer") from error'


def test_of_a_group_the_exceptions_in_it_are_causes():
    async def gather() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(boom))

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(gather())
    text = "".join(traceback.format_exception(raised.value))
    stack = parse_stack(text)
    assert [cause["type"] for cause in stack.causes] == ["ValueError"]
    assert stack.causes[0]["message"].startswith("no")
    assert stack.causes[0]["at"] is not None
    assert stack.causes[0]["at"]["function"] == "boom"
    assert "gather" in [frame["function"] for frame in stack.frames]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "it did not work",
        "goroutine 1 [running]:\nmain.main()\n\t/app/main.go:7 +0x1d",
        "app.rb:12:in `call': no (RuntimeError)",
        "look at this (and that)",
        "Traceback (most recent call last):\n",
        "Error: only a message",
    ],
)
def test_of_other_texts_nothing_is_known(text: str | None):
    stack = parse_stack(text)
    assert (stack.frames, stack.causes, stack.at) == ([], [], None)


@pytest.mark.parametrize(
    "part", ['  File "', "    at a (", "Caused by: ", "  | ", "  +-", " ~^", "at x:1:", "\x85", "[", "(" * 40]
)
def test_no_text_takes_long(part: str):
    text = part * (2_000_000 // len(part))
    for each in (text, text.replace(part, part + "\n"), "x\n" + text):
        assert_takes_less_than(3, partial(parse_stack, each))  # a bad one takes hours


def test_of_a_deep_recursion_the_innermost_lines_are_kept():
    frame = '  File "/app/a.py", line {}, in f\n    f()\n'
    text = "Traceback (most recent call last):\n" + "".join(map(frame.format, range(500))) + "RecursionError: deep\n"
    stack = parse_stack(text)
    assert len(stack.frames) == MAX_FRAMES
    assert stack.frames[-1]["line"] == 499
