"""`python -m playhead.testing`: runs the mock model server alone, to try a program without an API key.

Runs until Ctrl-C or SIGTERM. Needs the standard library only, like the server.
"""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from playhead.testing import scenarios
from playhead.testing.answers import AssistantMessage, text, tool_call
from playhead.testing.request import ChatRequest
from playhead.testing.rules import tool_requested
from playhead.testing.server import MockModelServer
from playhead.testing.trajectories import Trajectories, UnreadableTrajectories

PORT = 4010
_FAILED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the server until it is stopped. Returns the exit code: 0, or 2 if it cannot be started with these
    arguments."""
    options = _parser().parse_args(arguments)
    try:
        server = _server(options)
        server.start()
    except (UnreadableTrajectories, ValueError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"cannot listen on port {options.port}: {error.strerror or error}; choose another: --port 0")
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    _say(
        f"The mock model server answers at {server.base_url}. Stop it with Ctrl-C.",
        "In another terminal:",
        f"  export OPENAI_BASE_URL={server.base_url} OPENAI_API_KEY=none",
    )
    try:
        stopped.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m playhead.testing",
        description="A mock model server on loopback. It speaks the APIs of several providers.",
        epilog="scenarios: " + "; ".join(f"{name}: {scenarios.load(name).description}" for name in scenarios.NAMES),
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"default {PORT}; 0 takes any free port")
    parser.add_argument("--answer", metavar="TEXT", help="what it answers; default: it repeats what it was asked last")
    parser.add_argument(
        "--tool",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "ARGUMENTS"),
        help="first ask for this tool, with these arguments as a JSON object; repeat it for more tools, in order",
    )
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        choices=scenarios.NAMES,
        metavar="NAME",
        help="play a scenario (see below); repeat it for more, in order",
    )
    parser.add_argument(
        "--trajectories", type=Path, metavar="FOLDER", help="also play the recorded runs in this folder"
    )
    return parser


def _server(options: argparse.Namespace) -> MockModelServer:
    """Makes the server with its rules. Raises ValueError, UnreadableTrajectories, OSError."""
    recorded = Trajectories.load(options.trajectories) if options.trajectories else None
    server = MockModelServer(port=options.port, trajectories=recorded, keep_requests=False)
    for name, arguments in options.tool:
        server.when(~tool_requested(name), tool_call(name, _json_object(name, arguments)))
    for name in options.scenario:
        server.play_scenario(name)
    server.otherwise(text(options.answer) if options.answer is not None else _repeat)
    return server


def _repeat(request: ChatRequest) -> AssistantMessage:
    prompt = next(request.texts(last=True), "")
    return text(f"This is the mock model. You said: {prompt}")


def _json_object(tool: str, arguments: str) -> dict[str, object]:
    try:
        read: object = json.loads(arguments)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise ValueError(
            f"--tool {tool} needs its arguments as a JSON object, such as '{{\"q\": 1}}', not {arguments!r}"
        )
    return read  # pyright: ignore[reportUnknownVariableType] - the mock sends whatever JSON it is


def _refuse(why: str) -> int:
    sys.stderr.write(f"python -m playhead.testing: {why}\n")
    return _FAILED


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
