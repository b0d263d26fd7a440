"""[client]: runs, and what was recorded in one: events, state, context, messages, calls, spans."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire import answers as a


class RunsOperations:
    """Which runs there are, and what was recorded in one."""

    @paged_client_method
    def runs(
        self,
        *,
        agent: str | None = None,
        status: Literal["running", "completed", "failed", "cancelled"] | None = None,
        session: str | None = None,
        user: str | None = None,
        tag: str | None = None,
        model: str | None = None,
        tool: str | None = None,
        fork_of: str | None = None,
        text: str | None = None,
        id: str | None = None,  # noqa: A002 - its name in the API
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> PagedRequest[a.RunSummary]:
        """Runs, newest first, at most `limit`; all conditions must hold.  `id` is a part of their id."""
        words = {"agent": agent, "status": status, "session": session, "user": user, "tag": tag, "model": model}
        words |= {
            "tool": tool,
            "fork_of": fork_of,
            "text": text,
            "id": id,
            "since": _time(since),
            "until": _time(until),
        }
        return PagedRequest("runs", words, limit)

    @client_method
    def run(self, run: str) -> ApiRequest[a.RunDetail]:
        """One run in a few words.  Here and wherever a run is named: its id, a part that no other has, or `last`."""
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
        limit: int | None = None,
    ) -> PagedRequest[a.RecordedEvent]:
        """What happened behind seq `after`, in order.

        `preview`: so many characters (up to 10,000) of each value that an event names, in `previews`.
        """
        params = {
            "preview": preview or None,
            "after": after,
            "kinds": ",".join(kinds) or None,
            "priority": priority,
            "since": _time(since),
        }
        return PagedRequest(run_path(run, "events"), params, limit)

    @client_method
    def state(self, run: str, *, at: int | str | None = None, hydrate: bool = False) -> ApiRequest[a.StateAt]:
        """The state right after an event, named by seq or id; default: the last."""
        return ApiRequest(run_path(run, "state"), {"at": at, "hydrate": hydrate})

    @client_method
    def context(
        self,
        run: str,
        *,
        at: int | str | None = None,
        form: Literal["parts", "openai"] = "parts",
        exact: bool = False,
    ) -> ApiRequest[a.ContextAt]:
        """Exactly what the model saw at the call that this event belongs to; default: the last call.

        `exact`: also `request`, the body as it went over the wire.  Raises NotFound where the record does not say it.
        """
        return ApiRequest(run_path(run, "context"), {"at": at, "form": form, "exact": exact or None})

    @paged_client_method
    def messages(
        self, run: str, *, at: int | str | None = None, limit: int | None = None, hydrate: bool = True
    ) -> PagedRequest[a.HistoryEntry]:
        """The whole conversation in order, up to an event: each message once, and whether it was still in context."""
        return PagedRequest(run_path(run, "messages"), {"at": at, "hydrate": hydrate}, limit)

    @paged_client_method
    def llm_calls(self, run: str, *, limit: int | None = None, hydrate: bool = False) -> PagedRequest[a.LlmCall]:
        """Model calls in the order in which they began."""
        return PagedRequest(run_path(run, "llm-calls"), {"hydrate": hydrate}, limit)

    @paged_client_method
    def tool_calls(self, run: str, *, limit: int | None = None, hydrate: bool = False) -> PagedRequest[a.ToolCall]:
        """Tool calls in the order in which they began."""
        return PagedRequest(run_path(run, "tool-calls"), {"hydrate": hydrate}, limit)

    @paged_client_method
    def spans(self, run: str, *, limit: int | None = None) -> PagedRequest[a.TraceSpan]:
        """The tree of spans: each after its parent."""
        return PagedRequest(run_path(run, "spans"), {}, limit)


def _time(moment: str | datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else moment
