"""LangSmith: `@traceable`, with a client that posts to nobody."""
# pyright: reportMissingImports=false

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import requests

os.environ["LANGSMITH_TRACING"] = "true"
os.environ["LANGSMITH_DISABLE_RUN_COMPRESSION"] = "true"

from langsmith import Client, traceable

from benchmarks.peers.recorded import RecordedCall


class _CountingSession(requests.Session):
    """Takes everything at once; counts the runs that are begun in multipart bodies."""

    count = 0
    mutex = threading.Lock()

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        body: Any = kwargs.get("data") or b""
        body = body if isinstance(body, bytes) else body.to_string()
        with self.mutex:
            self.count += sum(b"." not in name for name in _names(body))
        response = requests.Response()
        response.status_code, response._content = 202, b"{}"
        return response


def _names(body: bytes) -> list[bytes]:
    """What follows `post.` in the names of the parts: `<run id>` of the run itself, `<run id>.inputs` and so on."""
    return [part.partition(b'"')[0] for part in body.split(b'name="post.')[1:]]


class _KeepingClient(Client):
    """Keeps what is posted, until `keep` is false."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.keep = True
        self.kept: dict[str, RecordedCall] = {}
        self.mutex = threading.Lock()

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **options: Any) -> None:
        if not self.keep:
            super().create_run(name, inputs, run_type, **options)
            return
        parent = options.get("parent_run_id")
        call = RecordedCall(
            name, str(options["id"]), str(parent) if parent else None, _ns(options.get("start_time")) or 0, None
        )
        call.input = str(inputs)
        self._end(call, options)
        with self.mutex:
            self.kept[call.id] = call

    def update_run(self, run_id: Any, **options: Any) -> None:
        if not self.keep:
            super().update_run(run_id, **options)
            return
        call = self.kept[str(run_id)]
        call.input += str(options.get("inputs") or "")
        self._end(call, options)

    def _end(self, call: RecordedCall, options: dict[str, Any]) -> None:
        call.ended_ns = _ns(options.get("end_time")) or call.ended_ns
        call.failed = bool(options.get("error"))
        call.cancelled = "cancel" in str(options.get("error")).lower()


def _ns(time: datetime | None) -> int | None:
    if time is None:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6) * 1000


class _LangsmithTool:
    def __init__(self) -> None:
        self.version = version("langsmith")
        self._session = _CountingSession()
        self._client = _KeepingClient(api_url="http://127.0.0.1:9", api_key="none", session=self._session)

    def decorate(self, function: Any) -> Any:
        return traceable(client=self._client)(function)

    def calls(self) -> list[RecordedCall]:
        return list(self._client.kept.values())

    def reset(self) -> None:
        self._client.keep = True
        self._client.kept = {}

    def count_only(self) -> Callable[[], int]:
        self._client.keep = False
        self._client.flush()
        before = self._session.count

        def wait() -> int:
            self._client.flush()
            return self._session.count - before

        return wait


def make_tool() -> _LangsmithTool:
    return _LangsmithTool()
