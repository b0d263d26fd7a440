"""[export]: reads the records of runs from a collector, and then all contents and threads that they refer to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.cli.moving.export_files import ExportFiles
from playhead.cli.moving.progress import ShowProgress
from playhead.cli.moving.ref_queue import RefQueue
from playhead.client import Client
from playhead.errors import ClientError, CollectorUnreachable, NotAuthorized
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire import export_layout as layout
from playhead.wire.operations import RunSummary
from playhead.wire.operations.runs import OtlpRequest
from playhead.wire.pack import Pack, ThreadExtension

_REFS_AT_ONCE = 500
_POSTED = "api"
"""The source of scores that were posted to the API."""


@dataclass(slots=True)
class TakenCounts:
    """Counts of what was read so far."""

    runs: int = 0
    spans: int = 0
    logs: int = 0
    contents: int = 0
    content_bytes: int = 0
    missing: int = 0
    unreadable: int = 0
    scores: int = 0


class Taking:
    """Reads runs, then their contents, and writes them to the export's files; `counts` says what was read."""

    def __init__(self, client: Client, files: ExportFiles, queue: RefQueue, show: ShowProgress) -> None:
        self._client, self._files, self._queue, self._show = client, files, queue, show
        self.counts = TakenCounts()

    def run(self, run: RunSummary) -> None:
        """Writes the records of a run, and the scores that were posted to the API. (Scores that programs recorded are
        among the log events.)"""
        fields = {name: run[name] for name in ("run", "name", "status", "started", "ended")}
        self._files.line(layout.RUNS, canonical_json(fields | {"fork_of": run["fork_of"]}))
        for request in self._client.otlp(run["run"]):
            self._records(request)
            self._show(f"{self.counts.runs + 1:,} runs, spans", self.counts.spans, None)
        for line in self._queue.end_run():
            self._write(layout.TRACES, line)
            self.counts.spans += 1
        for score in self._client.scores(run["run"], source=_POSTED):
            self._files.line(layout.SCORES, layout.score_line(score))
            self.counts.scores += 1
        self.counts.runs += 1

    def _records(self, request: OtlpRequest) -> None:
        if "resourceLogs" in request:
            scopes = (scope for resource in request["resourceLogs"] for scope in resource["scopeLogs"])
            self.counts.logs += sum(len(scope["logRecords"]) for scope in scopes)
            self._write(layout.LOGS, canonical_json(request))
        resources = [entry for entry in map(self._ended, request.get("resourceSpans", [])) if entry["scopeSpans"]]
        if resources:
            self._write(layout.TRACES, canonical_json({"resourceSpans": resources}))

    def _ended(self, resource: dict[str, Any]) -> dict[str, Any]:
        """Returns the spans of a resource that have ended. Puts the others aside, until it is known whether the run has
        an ended version of them."""
        scopes: list[dict[str, Any]] = []
        for scope in resource["scopeSpans"]:
            ended: list[dict[str, Any]] = []
            for span in scope["spans"]:
                if "endTimeUnixNano" in span:
                    ended.append(span)
                else:
                    alone = {**resource, "scopeSpans": [{**scope, "spans": [span]}]}
                    self._queue.unended(_key(span), canonical_json({"resourceSpans": [alone]}))
            self._queue.ended([_key(span) for span in ended])
            self.counts.spans += len(ended)
            scopes += [{**scope, "spans": ended}] if ended else []
        return {**resource, "scopeSpans": scopes}

    def _write(self, name: str, line: bytes) -> None:
        self._files.line(name, line)
        self._queue.add(layout.refs_in(line))

    def contents(self) -> None:
        """Writes all contents and threads that the records refer to, and those that these refer to."""
        while digests := self._queue.next(_REFS_AT_ONCE):
            refs: Sequence[ContentRef] = [ContentRef.from_digest(digest) for digest in digests]
            while refs:
                pack, looked_at = self._pack(refs)
                self._pack_stored(pack)
                unknown = [ref.digest for ref in refs[:looked_at] if not self._queue.is_stored(ref.digest)]
                self._queue.absent(unknown)
                self.counts.missing += len(unknown)
                refs = [ref for ref in refs[looked_at:] if not self._queue.is_stored(ref.digest)]
                self._show("contents", self.counts.contents, self.counts.contents + self._queue.waiting)

    def _pack(self, refs: Sequence[ContentRef]) -> tuple[Pack, int]:
        """Returns the contents of these refs, and how many of the refs were looked at. A content that the collector
        cannot read is left out and counted."""
        try:
            return self._client.content_pack(refs)
        except (CollectorUnreachable, NotAuthorized):
            raise
        except ClientError:
            if len(refs) > 1:
                return self._pack(refs[: len(refs) // 2])
            self.counts.unreadable += 1
            return Pack((), ()), 1

    def _pack_stored(self, pack: Pack) -> None:
        for content in pack.contents:
            digest = content.ref.digest
            if not self._queue.is_stored(digest):
                self._files.content(content)
                self.counts.contents += 1
                self.counts.content_bytes += len(content.data)
                self._queue.stored([digest])
                self._queue.add(layout.refs_in(content.data))
        for thread in pack.threads:
            nodes = extend(thread.messages, thread.parent)
            new = [node for node in nodes if not self._queue.is_stored(node.ref.digest)]
            if not new:
                continue
            messages = tuple(node.message for node in new)
            self._files.line(layout.THREADS, layout.thread_line(ThreadExtension(new[0].parent, messages)))
            self._queue.stored(node.ref.digest for node in new)
            self._queue.add(message.digest for message in messages)


def _key(span: dict[str, Any]) -> str:
    return f"{span['traceId']} {span['spanId']}"


def with_relatives(client: Client, runs: Iterable[RunSummary], *, parents: bool, forks: bool) -> Iterator[RunSummary]:
    """Yields these runs and, if wanted, the runs that they were forked from and their forks, each once."""
    seen: set[str] = set()
    for run in runs:
        stack = [run]
        while stack:
            relative = stack.pop()
            if relative["run"] in seen:
                continue
            seen.add(relative["run"])
            yield relative
            above = relative["fork_of"]
            if parents and above is not None and above not in seen:
                stack += client.runs(id=above, limit=1)
            if forks:
                stack += client.runs(fork_of=relative["run"])
