"""[client]: runs, and what was recorded in them: events, state, context, messages, calls, spans."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from playhead.client.operation import (
    ApiRequest,
    PagedRequest,
    WatchRequest,
    client_method,
    paged_client_method,
    run_path,
    watch_client_method,
)
from playhead.wire import operations
from playhead.wire.operations.runs import OtlpRequest


class RunsOperations:
    """Runs, and what was recorded in them."""

    @paged_client_method
    def runs(
        self,
        *,
        agent: str | None = None,
        status: Literal["running", "completed", "failed", "cancelled", "lost"] | None = None,
        session: str | None = None,
        user: str | None = None,
        tag: str | None = None,
        model: str | None = None,
        tool: str | None = None,
        fork_of: str | None = None,
        trace: str | None = None,
        linked: str | None = None,
        text: str | None = None,
        id: str | None = None,  # noqa: A002 - its name in the API
        score: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> PagedRequest[operations.RunSummary]:
        """Runs that meet all conditions, newest first, at most `limit`. `id` is a part of the run's id.

        `trace`: runs with spans of the trace with this id. `linked`: other runs whose spans link the run with this id.
        `score` is a condition for the run's latest score of a name: `resolved`, `resolved=true`, `quality>=0.5`.
        """
        words = {"agent": agent, "status": status, "session": session, "user": user, "tag": tag, "model": model}
        words |= {
            "tool": tool,
            "fork_of": fork_of,
            "trace": trace,
            "linked": linked,
            "text": text,
            "id": id,
            "score": score,
            "since": time_text(since),
            "until": time_text(until),
        }
        return PagedRequest("runs", words, limit)

    @client_method
    def run(self, run: str) -> ApiRequest[operations.RunDetail]:
        """Summary of a run.  `run`, in all methods: the id, a unique part of it, or `last`.  Raises NotFound."""
        return ApiRequest(run_path(run))

    @paged_client_method
    def events(
        self,
        run: str,
        *,
        after: int = 0,
        kinds: Sequence[str] = (),
        priority: Literal["critical", "normal"] | None = None,
        since: str | datetime | None = None,
        preview: int = 0,
        last: int | None = None,
        limit: int | None = None,
    ) -> PagedRequest[operations.RecordedEvent]:
        """Events with a seq greater than `after`, in order; with `last`, only the last so many (up to 1,000).

        `preview`: number of characters (up to 10,000) of each value to return in `previews`.
        """
        params = {
            "preview": preview or None,
            "last": last,
            "after": after or None,
            "kinds": ",".join(kinds) or None,
            "priority": priority,
            "since": time_text(since),
        }
        return PagedRequest(run_path(run, "events"), params, limit)

    @watch_client_method
    def watch(
        self,
        run: str | None = None,
        *,
        after: int = 0,
        kinds: Sequence[str] = (),
        priority: Literal["critical", "normal"] | None = None,
        since: str | datetime | None = None,
        preview: int = 0,
        limit: int | None = None,
        on_changed: Callable[[operations.RecordedEvent], None] | None = None,
        on_moved: Callable[[operations.EventsMoved], None] | None = None,
        reconnect_seconds: float = 300.0,
    ) -> WatchRequest:
        """Events of a run as they happen: first the stored ones (with a seq greater than `after`), then each new one,
        until the run has ended. Without `run`: events of all runs from now on (or from `since`), without an end.

        Yields each event once. After a lost connection, reconnects for up to `reconnect_seconds`; no event is missed.
        `on_changed` is called with an event that was yielded before and whose data has changed, `on_moved` when a late
        event changed the seqs of other events.
        """
        params = {
            "preview": preview or None,
            "after": None if run is None else after or None,
            "kinds": ",".join(kinds) or None,
            "priority": priority,
            "since": time_text(since),
        }
        return WatchRequest(run, params, limit, on_changed, on_moved, reconnect_seconds)

    @paged_client_method
    def checkpoints(
        self, run: str, *, preview: int = 0, limit: int | None = None
    ) -> PagedRequest[operations.CheckpointEntry]:
        """Checkpoints, oldest first; `preview`: number of characters (up to 10,000) of each state to return."""
        return PagedRequest(run_path(run, "checkpoints"), {"preview": preview or None}, limit)

    @client_method
    def state(self, run: str, *, at: int | str | None = None, hydrate: bool = False) -> ApiRequest[operations.StateAt]:
        """State of the run directly after the event `at` (a seq, an event id, `turn:N` for the N-th
        model call, `first-error`; default: the last)."""
        return ApiRequest(run_path(run, "state"), {"at": at, "hydrate": hydrate})

    @client_method
    def context(
        self,
        run: str,
        *,
        at: int | str | None = None,
        form: Literal["parts", "openai"] = "parts",
        exact: bool = False,
    ) -> ApiRequest[operations.ContextAt]:
        """Exact input of the model call that the event `at` belongs to; default: the last call.

        `exact`: also return `request`, the body as it was sent.  Raises NotFound if the body was not recorded.
        """
        return ApiRequest(run_path(run, "context"), {"at": at, "form": form, "exact": exact or None})

    @paged_client_method
    def messages(
        self, run: str, *, at: int | str | None = None, limit: int | None = None, hydrate: bool = True
    ) -> PagedRequest[operations.HistoryEntry]:
        """All messages up to the event `at`, in order, each once, and whether it was in the context at that event."""
        return PagedRequest(run_path(run, "messages"), {"at": at, "hydrate": hydrate}, limit)

    @paged_client_method
    def llm_calls(
        self, run: str, *, limit: int | None = None, hydrate: bool = False
    ) -> PagedRequest[operations.LlmCall]:
        """Model calls of a run, in order of their start."""
        return PagedRequest(run_path(run, "llm-calls"), {"hydrate": hydrate}, limit)

    @paged_client_method
    def tool_calls(
        self, run: str, *, limit: int | None = None, hydrate: bool = False
    ) -> PagedRequest[operations.ToolCall]:
        """Tool calls of a run, in order of their start."""
        return PagedRequest(run_path(run, "tool-calls"), {"hydrate": hydrate}, limit)

    @paged_client_method
    def spans(self, run: str, *, limit: int | None = None) -> PagedRequest[operations.TraceSpan]:
        """Spans of a run in tree order: each after its parent."""
        return PagedRequest(run_path(run, "spans"), {}, limit)

    @paged_client_method
    def otlp(self, run: str) -> PagedRequest[OtlpRequest]:
        """Spans and log events of a run as stored, as OTLP requests in JSON; `content_pack` returns the contents that
        they refer to."""
        return PagedRequest(run_path(run, "otlp"), {}, None, page_size=4)

    @client_method
    def test_of(self, run: str) -> ApiRequest[str]:
        """The text of a pytest file made from the run: it has the recorded answers of the model, and asserts that the
        agent does the same again."""
        return ApiRequest(run_path(run, "test"), read=lambda response: response.text)


def time_text(moment: str | datetime | None) -> str | None:
    """Returns a time as text for the API. A text is returned unchanged."""
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else moment
