"""record → [span] → vocabularies. One span of the record in the form that every destination needs, its content as
refs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.json_value import Json, JsonMapping
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, Attributes, LogEvent, Span
from playhead.projection.attributes import agent_name, kind_of, number, ref, text, texts, tool_name, usage_of
from playhead.projection.log_events import with_log_content

_NS_PER_SECOND: Final = 1_000_000_000
_SETTINGS_PREFIX: Final = "gen_ai.request."
# Attributes with which other tools report the cost of a call, best first.
_COSTS: Final = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost", "gen_ai.usage.total_cost")
_COST_DETAILS: Final = {
    "llm.cost.prompt": "input",
    "gen_ai.usage.input_cost": "input",
    "llm.cost.completion": "output",
    "gen_ai.usage.output_cost": "output",
}
_DOCUMENTS: Final = ("retrieval.documents_ref", "reranker.output_documents_ref", "gen_ai.retrieval.documents_ref")
_PARAMETERS: Final = ("llm.invocation_parameters_ref", "embedding.invocation_parameters_ref")


@dataclass(frozen=True, slots=True)
class OutboundRun:
    """Facts about a run that are recorded once, on its root span, and that destinations need on every span."""

    id: str | None = None
    name: str | None = None
    session: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    metadata: ContentRef | None = None

    def with_span(self, attributes: Attributes) -> "OutboundRun":
        """Returns a copy with empty fields filled from the attributes of one of the run's spans."""
        return replace(
            self,
            id=self.id or text(attributes, names.RUN_ID),
            name=self.name or text(attributes, names.RUN_NAME),
            session=self.session or text(attributes, names.CONVERSATION),
            user=self.user or text(attributes, names.USER),
            tags=self.tags or texts(attributes, names.RUN_TAGS),
            metadata=self.metadata or ref(attributes, names.RUN_METADATA_REF),
        )


@dataclass(frozen=True, slots=True)
class OutboundCost:
    """Cost of a call in US dollars. None: unknown."""

    total: float | None = None
    input: float | None = None
    output: float | None = None

    def __bool__(self) -> bool:
        return (self.total, self.input, self.output) != (None, None, None)


@dataclass(frozen=True, slots=True)
class OutboundSpan:
    """One ended span of the record, to be sent to a destination.

    `span` has refs in place of payloads, all under our names: our SDK recorded it, or `lift` converted it. `kind`: one
    of `names.KINDS`. `url`: the page that shows this moment of the run, None without one. `cost`: computed from a price
    table; without one, as reported by the span's own instrumentation.
    """

    span: Span
    run: OutboundRun
    kind: str
    url: str | None = None
    cost: OutboundCost = OutboundCost()

    @property
    def attributes(self) -> Attributes:
        return self.span.attributes

    @property
    def is_root(self) -> bool:
        """Whether this is the first span of the run."""
        return self.span.parent_id is None or self.attributes.get(names.RUN_ROOT) is True

    @property
    def agent(self) -> str | None:
        return agent_name(self.span, self.kind)

    @property
    def tool(self) -> str | None:
        """Name of the called tool, for a span of kind `tool`; else None."""
        return tool_name(self.span) if self.kind == "tool" else None

    @property
    def tool_call(self) -> str | None:
        """Id that the model gave the tool call."""
        return text(self.attributes, names.TOOL_CALL_ID)

    @property
    def provider(self) -> str | None:
        return text(self.attributes, names.PROVIDER)

    @property
    def model(self) -> str | None:
        """The model that answered, else the requested model."""
        return text(self.attributes, names.RESPONSE_MODEL) or text(self.attributes, names.REQUEST_MODEL)

    @property
    def settings(self) -> Json:
        """Settings of the request that are attributes of the span: temperature, max_tokens, ..."""
        return {
            key.removeprefix(_SETTINGS_PREFIX): value
            for key, value in self.attributes.items()
            if key.startswith(_SETTINGS_PREFIX) and key not in {names.REQUEST_MODEL, names.REQUEST_STREAM}
        }

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        return texts(self.attributes, names.FINISH_REASONS)

    @property
    def usage(self) -> TokenUsage:
        """Tokens of a model call or embedding; empty for other kinds, because their numbers are sums of the calls
        inside them."""
        return usage_of(self.attributes) if self.kind in {"llm", "embedding"} else TokenUsage()

    @property
    def completion_start_ns(self) -> int | None:
        """Time when the first chunk of a streamed answer arrived, in ns since 1970; None if unknown."""
        seconds = number(self.attributes, names.TIME_TO_FIRST_CHUNK)
        return None if seconds is None else self.span.start_ns + round(seconds * _NS_PER_SECOND)

    @property
    def has_failed(self) -> bool:
        return self.span.status == STATUS_ERROR

    @property
    def refs(self) -> dict[str, ContentRef]:
        """All content refs of the span, by the attribute's name."""
        return {key: content_ref for key in self.attributes if (content_ref := ref(self.attributes, key)) is not None}

    def ref(self, *candidates: str) -> ContentRef | None:
        """Returns the ref in the first of these attributes that has one; None if none has."""
        return next(
            (content_ref for name in candidates if (content_ref := ref(self.attributes, name)) is not None), None
        )

    @property
    def input(self) -> ContentRef | None:
        """Input of the call other than messages."""
        return self.ref(names.TOOL_ARGUMENTS_REF, names.INPUT_REF)

    @property
    def output(self) -> ContentRef | None:
        """Output of the call other than messages."""
        return self.ref(names.TOOL_RESULT_REF, names.OUTPUT_REF)

    @property
    def documents(self) -> ContentRef | None:
        """Documents that a retriever found: from an attribute for documents, else its output. None for other kinds."""
        if self.kind != "retriever":
            return None
        return self.ref(*_DOCUMENTS, names.OUTPUT_REF)

    @property
    def request(self) -> ContentRef | None:
        """Settings of the request that are stored as content: a JSON object."""
        return self.ref(names.REQUEST_REF, *_PARAMETERS)


def outbound_span(
    span: Span,
    run: OutboundRun | None = None,
    *,
    kind: str | None = None,
    url: str | None = None,
    cost: OutboundCost | None = None,
    logs: Iterable[LogEvent] = (),
) -> OutboundSpan:
    """Prepares a span for every vocabulary. The span has refs in place of payloads: our SDK recorded it, or `lift`
    converted it.

    `run`: facts about its run that the span itself does not have. `kind`: the kind of a projection that knows better
    (of two spans that describe one model call, one is a step); None: the span's own kind. `logs`: log events of this
    span, because some instrumentations write their messages there; not needed for a span from `run_calls`, which has
    them already.
    """
    [span] = with_log_content([span], logs)
    completed_run = (run or OutboundRun()).with_span(span.attributes)
    if kind is None:
        kind = kind_of(span) or "step"
    return OutboundSpan(
        span, completed_run, kind if kind in names.KINDS else "step", url, cost or _own_cost(span.attributes)
    )


def run_of(attributes: Attributes) -> OutboundRun:
    """Returns the facts about a run that the attributes of its root span, or of the root's announcement, contain."""
    return OutboundRun().with_span(attributes)


def _own_cost(attributes: Attributes) -> OutboundCost:
    total = next((cost for name in _COSTS if (cost := number(attributes, name)) is not None), None)
    details = dict(_details(attributes))
    return OutboundCost(total, details.get("input"), details.get("output"))


def _details(attributes: JsonMapping) -> Iterator[tuple[str, float]]:
    for name, detail in _COST_DETAILS.items():
        if (cost := number(attributes, name)) is not None:
            yield detail, cost
