"""[client]: runs, and what was recorded in one: events, state, context, messages, calls, spans."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire import answers as a


class RunsOperations:
    """Which runs there are, and what was recorded in one."""

    @listed
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
    ) -> Listing[a.RunSummary]:
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
        return Listing("runs", words, limit)

    @asked
    def run(self, run: str) -> Question[a.RunDetail]:
        """One run in a few words.  Here and wherever a run is named: its id, a part that no other has, or `last`."""
        return Question(run_path(run))

    @listed
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
    ) -> Listing[a.RecordedEvent]:
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
        return Listing(run_path(run, "events"), params, limit)

    @asked
    def state(self, run: str, *, at: int | str | None = None, hydrate: bool = False) -> Question[a.StateAt]:
        """The state right after an event, named by seq or id; default: the last."""
        return Question(run_path(run, "state"), {"at": at, "hydrate": hydrate})

    @asked
    def context(
        self,
        run: str,
        *,
        at: int | str | None = None,
        form: Literal["parts", "openai"] = "parts",
        exact: bool = False,
    ) -> Question[a.ContextAt]:
        """Exactly what the model saw at the call that this event belongs to; default: the last call.

        `exact`: also `request`, the body as it went over the wire.  Raises NotFound where the record does not say it.
        """
        return Question(run_path(run, "context"), {"at": at, "form": form, "exact": exact or None})

    @listed
    def messages(
        self, run: str, *, at: int | str | None = None, limit: int | None = None, hydrate: bool = True
    ) -> Listing[a.HistoryEntry]:
        """The whole conversation in order, up to an event: each message once, and whether it was still in context."""
        return Listing(run_path(run, "messages"), {"at": at, "hydrate": hydrate}, limit)

    @listed
    def llm_calls(self, run: str, *, limit: int | None = None, hydrate: bool = False) -> Listing[a.LlmCall]:
        """Model calls in the order in which they began."""
        return Listing(run_path(run, "llm-calls"), {"hydrate": hydrate}, limit)

    @listed
    def tool_calls(self, run: str, *, limit: int | None = None, hydrate: bool = False) -> Listing[a.ToolCall]:
        """Tool calls in the order in which they began."""
        return Listing(run_path(run, "tool-calls"), {"hydrate": hydrate}, limit)

    @listed
    def spans(self, run: str, *, limit: int | None = None) -> Listing[a.TraceSpan]:
        """The tree of spans: each after its parent."""
        return Listing(run_path(run, "spans"), {}, limit)


def _time(moment: str | datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else moment
