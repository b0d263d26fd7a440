"""Spans that another project of the same Phoenix has already.

Phoenix keeps a trace in the project that got its first span. It accepts a span again for another project, and leaves it
where it is. So it is asked first, over GraphQL, which project has each trace, and, if that is another one, which of the
spans are there. Each trace is asked about once, and a Phoenix that does not answer gets all spans.

`ProjectLookup.look` decides what to ask. Whoever sends the requests decides how: in a thread, or in an event loop.
"""

from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import orjson

from playhead.model import names
from playhead.model.json_value import Json, object_at, object_of, text_at
from playhead.model.span import Attributes
from playhead.outbound.answers import Verdict, verdict_of

PATH: Final = "/graphql"
_DEFAULT_PROJECT: Final = "default"
# A question about so many ids takes Phoenix some milliseconds.
_MOST_ASKED: Final = 50
_MOST_KEPT: Final = 10_000

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SentSpan:
    """A span that is about to be sent to a project. The ids are hexadecimal."""

    trace_id: str
    span_id: str
    project: str


class ProjectLookup:
    """What is known about one Phoenix.  Used by one thread."""

    def __init__(self) -> None:
        self._absent: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Trace and project: no other project had the trace when its first span was sent there."""
        self._elsewhere: OrderedDict[str, str] = OrderedDict()
        """Span → the other project that has it."""
        self._can_answer = True

    def look(self, spans: Sequence[SentSpan]) -> Generator[bytes, bytes | None, Mapping[str, str]]:
        """Yields bodies of GraphQL requests, and is sent each answer's body (None: there was no answer). Returns the
        projects that have some of the spans already, by span id."""
        asked = [span for span in spans if (span.trace_id, span.project) not in self._absent]
        found = {span.span_id: self._elsewhere[span.span_id] for span in asked if span.span_id in self._elsewhere}
        if len(found) == len(asked):
            return found
        traces = yield from self._ask("getTraceByOtelId(traceId:", (span.trace_id for span in asked))
        if traces is None:
            return found
        suspects: list[SentSpan] = []
        for span in asked:
            if traces.get(span.trace_id, span.project) != span.project:
                suspects.append(span)
            else:
                _keep(self._absent, (span.trace_id, span.project), None)
        known = yield from self._ask("getSpanByOtelId(spanId:", (span.span_id for span in suspects))
        for span in suspects:
            project = (known or {}).get(span.span_id, span.project)
            if project != span.project:
                found[span.span_id] = project
                _keep(self._elsewhere, span.span_id, project)
        return found

    def _ask(self, field: str, ids: Iterable[str]) -> Generator[bytes, bytes | None, dict[str, str] | None]:
        """Returns the projects that have these traces or spans, by id; None if Phoenix does not say."""
        wanted = list(dict.fromkeys(ids))
        projects: dict[str, str] = {}
        for first in range(0, len(wanted) if self._can_answer else 0, _MOST_ASKED):
            part = wanted[first : first + _MOST_ASKED]
            fields = " ".join(f'q{place}:{field}"{one}"){{project{{name}}}}' for place, one in enumerate(part))
            answer = yield orjson.dumps({"query": f"{{{fields}}}"})
            if answer is None:
                return None
            data = _data(answer)
            if data is None:
                self._can_answer = False  # an older Phoenix, or a key that may not read
                return None
            for place, one in enumerate(part):
                project = text_at(object_at(object_at(data, f"q{place}"), "project"), "name")
                if project:
                    projects[one] = project
        return projects if self._can_answer else None


def project_of(project: str | None, resource: Attributes) -> str:
    """Returns the project to which Phoenix adds a span. `project`: the one that the destination names, if any."""
    named = project or resource.get(names.PROJECT_NAME)
    return named if isinstance(named, str) and named else _DEFAULT_PROJECT


def answer_of(status: int, body: bytes) -> bytes | None:
    """Returns what `ProjectLookup.look` is sent for an answer with this status."""
    match verdict_of(status):
        case Verdict.ACCEPTED:
            return body
        case Verdict.REFUSED | Verdict.MISCONFIGURED:
            return b""  # it will not answer later either
        case _:
            return None


def why_absent(project: str) -> str:
    """Returns the reason why a span is not in the project to which it should go."""
    return f"the project {project} of this Phoenix has the span already, and Phoenix keeps a span in one project"


def _data(answer: bytes) -> Json | None:
    try:
        data = object_of(orjson.loads(answer)).get("data")
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _keep(kept: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    kept[key] = value
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
