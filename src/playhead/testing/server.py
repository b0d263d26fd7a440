"""test or demo → [server] → script, endpoint, listener. The mock model server's public class."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any, Self

from playhead.testing import scenarios, transport
from playhead.testing.answers import Answering
from playhead.testing.endpoint import MockEndpoint, MockServerSettings
from playhead.testing.listener import Listener
from playhead.testing.request import ChatRequest
from playhead.testing.rules import Rule
from playhead.testing.script import Script, ScriptPlayer
from playhead.testing.trajectories import Trajectories


class MockModelServer:
    """A server that gives scripted answers over real HTTP, in the protocols of several providers, also streams and
    faults.

    Deterministic: equal requests in equal order get equal bytes, except for `created`, which comes from `clock`. Rules
    are tried in the order in which they were added, then the recorded run that the request names, then the default.
    Listens on 127.0.0.1 only, on `port`, or by default on a port that the system chooses.

    `scenario`: the name of a script that comes with the package (see `scenarios.NAMES`); `script`: one of your own,
    whose rules come first. `default`: the answer to requests that no rule matches, as `otherwise` sets it.

    With `keep_requests=False` it does not store requests: for long runs. `latency_seconds`: delay before each answer.
    With `thinking_on_request=True`, answers contain thinking only if the request asks for it (an effort, a thinking
    setting); otherwise also if the request says nothing about thinking and its API can have it.
    """

    def __init__(
        self,
        *,
        scenario: str | None = None,
        script: Script | None = None,
        default: Answering | None = None,
        trajectories: Trajectories | None = None,
        api_key: str | None = None,
        clock: Callable[[], float] = time.time,
        models: Sequence[str] = ("mock-model",),
        piece_characters: int = 16,
        keep_requests: bool = True,
        latency_seconds: float = 0,
        thinking_on_request: bool = False,
        port: int = 0,
    ) -> None:
        if piece_characters < 1:
            raise ValueError(f"piece_characters={piece_characters}: a streamed piece has at least one character")
        if not 0 <= latency_seconds < float("inf"):
            raise ValueError(f"latency_seconds={latency_seconds}: a time that passes before each answer, 0 or more")
        self._script = ScriptPlayer()
        if default is not None:
            self.otherwise(default)
        if script is not None:
            self.play_script(script)
        if scenario is not None:
            self.play_scenario(scenario)
        if trajectories is not None:
            self._script.play(trajectories)
        settings = MockServerSettings(
            api_key, clock, models, piece_characters, keep_requests, latency_seconds, thinking_on_request
        )
        self._endpoint = MockEndpoint(self._script, settings)
        self._port = port
        self._listener: Listener | None = None

    def when(self, rule: Rule, answer: Answering, *, times: int | None = None) -> None:
        """Adds a rule: a request that it matches, and no earlier rule, gets this answer; at most `times` times, if
        given."""
        self._script.when(rule, answer, times)

    def otherwise(self, answer: Answering) -> None:
        """Sets the answer to requests that nothing else answers. Without it, such a request gets an error that lists
        the rules."""
        self._script.otherwise(answer)

    def play_script(self, script: Script) -> None:
        """Adds the rules of a script. Rules that were added before come first; the script's default answer counts if
        there is none yet."""
        self._script.add(script)

    def play_scenario(self, name: str) -> None:
        """Adds the script that comes with the package under this name, such as "ticket_routing" (see
        `scenarios.NAMES`), as `play_script` does. Raises ValueError for another name."""
        self.play_script(scenarios.load(name))

    def play(self, trajectories: Trajectories) -> None:
        """Answers requests that name a recorded run in the header `x-playhead-trajectory` from that run."""
        self._script.play(trajectories)

    def http_client(self, library: ModuleType | None = None, **options: object) -> Any:
        """Makes an `httpx2.Client` (`httpx.Client` if httpx2 is not installed, or the one of `library`) whose requests
        this server answers without a socket, whatever their host: `openai.OpenAI(http_client=server.http_client())`.

        The server need not be started. `options` are arguments of the client, such as `base_url` and `timeout`.
        """
        return transport.client(self._endpoint.respond, library, **options)

    def async_http_client(self, library: ModuleType | None = None, **options: object) -> Any:
        """Makes the `AsyncClient` that corresponds to `http_client`."""
        return transport.async_client(self._endpoint.respond, library, **options)

    @property
    def base_url(self) -> str:
        """The `base_url` for an OpenAI client. Raises RuntimeError while the server is not running."""
        return f"{self.url}/v1"

    @property
    def url(self) -> str:
        """The URL of the server, without a path: the base URL for clients of other providers. Raises RuntimeError while
        the server is not running."""
        if self._listener is None:
            raise RuntimeError("the mock model server is not running; use it in a `with` block, or call start()")
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def requests(self) -> list[ChatRequest]:
        """The well-formed requests so far, in order; also after the server was closed."""
        return self._endpoint.requests

    def start(self) -> Self:
        """Starts to answer requests. Starting twice changes nothing."""
        if self._listener is None:
            self._listener = Listener(self._endpoint.respond, self._port)
            self._listener.start()
        return self

    def close(self) -> None:
        """Breaks every connection, pending answers included, and ends every thread. Closing twice changes nothing."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
