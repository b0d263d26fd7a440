"""[client]: search for decisions and texts in all runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method
from playhead.client.operations.runs import time_text
from playhead.wire.operations.search import FoundDecision, FoundText

_SHOWN = 50


class SearchOperations:
    """Search for decisions and texts in all sealed runs. The collector indexes a run in the background, after it was
    sealed."""

    @paged_client_method
    def search_decisions(
        self,
        *,
        kind: str | None = None,
        tool: str | None = None,
        arguments: Mapping[str, str] | None = None,
        value: str | None = None,
        attribution: str | None = None,
        source: str | None = None,
        suspect: bool | None = None,
        result: str | None = None,
        after: str | None = None,
        agent: str | None = None,
        status: Literal["completed", "failed", "cancelled"] | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> PagedRequest[FoundDecision]:
        """Decisions that meet all conditions, at most `limit`: newest runs first, in each run the last decision first.

        `arguments`: arguments of the call, by name; a name is a path (`flights[0].date`), a path without indices, or
        the last part of a path. `value`: a value of any argument. `source`: where a value comes from (user,
        tool_result, assistant, system, definition, derived, invented); `suspect`: whether its origin is doubtful.
        `attribution`: why the tool was called. `result`: how the call ended (ok, error, empty, cancelled, open,
        unknown); `after`: the result of the agent's previous tool call, `first` if there was none. `status`, `since`
        and `until` are conditions for the run.
        """
        named = [f"{name}={value}" for name, value in (arguments or {}).items()]
        words = {"kind": kind, "tool": tool, "argument": named or None, "value": value, "attribution": attribution}
        words |= {"source": source, "result": result, "after": after, "agent": agent, "status": status}
        times = {"since": time_text(since), "until": time_text(until)}
        return PagedRequest("search/decisions", {**words, "suspect": suspect, **times}, limit, page_size=_SHOWN)

    @paged_client_method
    def search_content(
        self,
        words: str | None = None,
        *,
        ref: str | None = None,
        role: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> PagedRequest[FoundText]:
        """Contents with these words in their text, at most `limit`, with quotes and the runs that saw them. Contents
        whose first run began last come first. `words` may have `"phrases"`, `or` and `-not`.

        With `ref` instead of words: this content only; then `limit` is the number of runs in `seen`, at most 1,000
        (default: 50), and `about` returns all of them. `role`: only messages of this role. `since` and `until`: start
        time of the first run that had the content.
        """
        params = {"q": words, "ref": ref, "role": role, "since": time_text(since), "until": time_text(until)}
        return PagedRequest("search/content", params, limit, page_size=_SHOWN if ref is None else limit or _SHOWN)

    @client_method
    def unindexed_runs(self) -> ApiRequest[int]:
        """The number of sealed runs that are not indexed yet, so that searches do not find them; at most 1,000."""
        return ApiRequest("search/decisions", {"limit": 1}, read=lambda response: response.json()["unindexed"])
