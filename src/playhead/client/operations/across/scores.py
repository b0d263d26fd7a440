"""[client]: scores of runs and calls."""

import uuid
from datetime import datetime

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.client.operations.runs import time_text
from playhead.wire.operations.scores import RecordedScore


class ScoresOperations:
    """Scores of runs and calls."""

    @client_method
    def score(
        self,
        run: str,
        name: str,
        value: float | bool | str,
        *,
        at: int | str | None = None,
        label: str | None = None,
        comment: str | None = None,
        author: str | None = None,
        id: str | None = None,  # noqa: A002 - its name in the API
        span: str | None = None,
        time: str | datetime | None = None,
    ) -> ApiRequest[RecordedScore]:
        """Score a run or, with `at`, the call that this event belongs to. `value`: a number, a boolean, or the name of
        a category.

        A score replaces the earlier score of the same name; both are stored. A score that is sent twice with the same
        `id` is stored once. For scores that are imported from elsewhere: `span` is the span id of the call, and `time`
        is when the score was given (default: now). Raises NotFound, and Conflict if the `id` is that of another score.
        """
        body = {"name": name, "value": value, "label": label, "comment": comment, "author": author}
        body |= {"at": None if at is None else str(at), "id": id or uuid.uuid4().hex}
        body |= {name: text for name, text in (("span", span), ("time", time_text(time))) if text is not None}
        return ApiRequest(run_path(run, "scores"), body=body)

    @paged_client_method
    def scores(
        self,
        run: str | None = None,
        *,
        name: str | None = None,
        source: str | None = None,
        latest: bool = False,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> PagedRequest[RecordedScore]:
        """Scores of all runs, or of one run, newest first. `latest`: without scores that a later one replaces."""
        params = {"run": run, "name": name, "source": source, "latest": latest or None}
        return PagedRequest("scores", params | {"since": time_text(since), "until": time_text(until)}, limit)
