"""[client]: scores of runs and calls."""

import uuid
from datetime import datetime

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.client.operations.runs import time_text
from playhead.wire.answers.across.scores import RecordedScore


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
        """Score a run, or with `at` the call that this event belongs to: a number, a boolean, or a category's name.

        A score of the same name replaces the one before; both are kept.  Sent again with the same `id`, it is stored
        once.  `span` and `time` are for scores that are moved from elsewhere: the call by its span's id, and when the
        score was given, instead of now.  Raises NotFound, and Conflict for an id of another score.
        """
        body = {"name": name, "value": value, "label": label, "comment": comment, "author": author}
        body |= {"at": None if at is None else str(at), "id": id or uuid.uuid4().hex}
        body |= {name: given for name, given in (("span", span), ("time", time_text(time))) if given is not None}
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
        """Scores of all runs, or of one, newest first.  `latest`: without those that a later score replaces."""
        params = {"run": run, "name": name, "source": source, "latest": latest or None}
        return PagedRequest("scores", params | {"since": time_text(since), "until": time_text(until)}, limit)
