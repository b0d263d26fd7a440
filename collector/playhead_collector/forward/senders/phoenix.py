"""delivery → [phoenix] → Phoenix.  Refuses requests with spans that another project of the same Phoenix has.

Phoenix would accept these spans, and not show them in the project to which they are sent.
"""

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.outbound.answers import Verdict
from playhead.outbound.phoenix_projects import PATH, ProjectLookup, SentSpan, answer_of, project_of, why_absent
from playhead_collector.forward.attempts import Answer
from playhead_collector.forward.senders import HttpTarget, Signal
from playhead_collector.forward.senders.http import HttpSender


class PhoenixSender:
    """Sends to one project of Phoenix."""

    def __init__(
        self, url: str, target: HttpTarget, project: str | None, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        """`url`: the address of Phoenix."""
        self._http = HttpSender(target, transport)
        self._url = url + PATH
        self._project = project
        self._projects = ProjectLookup()

    async def send(self, signal: Signal, body: bytes) -> Answer:
        """See `Sender`."""
        project = await self._elsewhere(body)
        if project is not None:
            return Answer(Verdict.REFUSED, why_absent(project))
        return await self._http.send(signal, body)

    async def close(self) -> None:
        """Closes connections."""
        await self._http.close()

    async def _elsewhere(self, body: bytes) -> str | None:
        """Returns another project that has one of the spans; None if there is none."""
        questions = self._projects.look(_spans_in(body, self._project))
        try:
            question = next(questions)
            while True:
                answer = await self._http.ask(self._url, question)
                question = questions.send(None if answer is None else answer_of(*answer))
        except StopIteration as ended:
            return next(iter(ended.value.values()), None)


def _spans_in(body: bytes, project: str | None) -> list[SentSpan]:
    sent: list[SentSpan] = []
    for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        goes_to = project_of(project, {pair.key: pair.value.string_value for pair in of_resource.resource.attributes})
        spans = (span for scope in of_resource.scope_spans for span in scope.spans)
        sent += [SentSpan(span.trace_id.hex(), span.span_id.hex(), goes_to) for span in spans]
    return sent
