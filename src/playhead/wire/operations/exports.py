"""Exports of a run: its stored spans and log events as OTLP, and the run with all that it names as one file."""

from typing import Annotated

from playhead.model.canonical import Content
from playhead.wire.operations.bounds import Bounds, RunName
from playhead.wire.operations.operation import READ, as_content, download, get_list
from playhead.wire.operations.page import Page
from playhead.wire.operations.runs import OtlpRequest

BUNDLE = "application/gzip"
"""Media type of a bundle."""
# A stored page gives one item or two, and a page of the answer is yielded whole.
OtlpMost = Annotated[int | None, Bounds(help="After how many to stop; a few more may come.")]


class ExportOperations:
    """Exports of a run."""

    @get_list(
        "/runs/{run}/otlp",
        scope=READ,
        tag="runs",
        page_size=4,
        page_limit=Bounds(ge=1, le=16, description="Stored pages to read, of up to 256 spans and log events each."),
        client_page=4,
    )
    def otlp(self, run: RunName, *, limit: OtlpMost = None) -> Page[OtlpRequest]:
        """Spans and log events of a run as they are stored, as OTLP requests in JSON.

        Each item has `resourceSpans` or `resourceLogs`, and may be sent to `/v1/traces` or `/v1/logs` of a collector.
        Payloads are refs: `POST content/pack` has their contents. A span may come more than once, as long as it has not
        ended, or when spans arrive while it is read; sending all versions gives the same record.
        """
        ...

    @download(
        "/runs/{run}/bundle",
        scope=READ,
        tag="runs",
        media_type=BUNDLE,
        read=as_content,
        answer_text="The bundle.",
        also_refuses={404: "", 413: ""},
    )
    def bundle(self, run: RunName) -> Content:
        """The run with all that it names, and the runs that it was forked from, as `playhead import` reads it.

        It is a gzipped tar with the files of `playhead export`. Runs whose contents have more than 1 GiB get 413: that
        command writes them.
        """
        ...
