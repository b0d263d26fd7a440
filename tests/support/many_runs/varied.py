"""Runs of many agents: other tools, texts, lengths and errors in each."""

import random
from dataclasses import dataclass, field

from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, Span, SpanEvent
from tests.support.made_up_runs import MadeUpRun

AGENTS = ("support", "billing", "travel", "research", "ops", "sales", "triage", "audit")
MODELS = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "gemini-2.5-pro")
TOOLS = (
    "get_order", "refund_order", "search_flights", "book_flight", "cancel_booking", "read_file", "write_file",
    "run_query", "send_email", "get_customer", "update_address", "list_invoices", "restart_service", "read_logs",
    "open_ticket", "close_ticket",
)  # fmt: skip
_NOUNS = (
    "parcel", "invoice", "flight", "baggage", "voucher", "warranty", "subscription", "refund", "delivery", "seat",
    "upgrade", "password", "server", "disk", "queue", "index", "contract", "shipment", "customs", "deposit", "battery",
    "charger", "router", "meeting", "calendar", "report", "budget", "payroll", "visa", "hotel",
)  # fmt: skip
_VERBS = (
    "lost", "delayed", "missing", "broken", "duplicated", "cancelled", "rejected", "expired", "blocked", "changed",
    "wrong", "late", "open",
)  # fmt: skip
_NOTES = (
    "please", "could", "you", "look", "at", "it", "today", "because", "the", "customer", "has", "called", "twice",
    "and", "wants", "an", "answer", "in", "writing",
)  # fmt: skip


@dataclass(slots=True)
class VariedRun(MadeUpRun):
    """A run of `steps` tool calls. `code` stands in its texts and arguments, and in no other run's."""

    number: int = 0
    code: str = ""
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # Not `super()`: a dataclass with slots is another class than the one in this scope.
        self.chance = random.Random(self.number)
        self.code = self.code or code_of(self.number)
        MadeUpRun.__post_init__(self)
        chance, root = self.chance, self._root
        root.name = f"invoke_agent {self.agent}"
        root.attributes |= {names.RUN_NAME: self.agent, names.CONVERSATION: f"conv-{self.code}"}
        root.attributes |= {names.USER: f"user-{self.number % 97}", names.RUN_TAGS: chance.sample(_NOUNS, 2)}
        for span in self.spans:
            span.attributes[names.AGENT_NAME] = self.agent
        if self.number % 11 == 0:
            _fail(root, "TimeoutError", f"no answer about {self.code}")

    @property
    def agent(self) -> str:
        """The name of its agent, which has six tools."""
        return AGENTS[self.number % len(AGENTS)]

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of its agent."""
        first = self.number % len(AGENTS)
        return tuple(TOOLS[(2 * first + n) % len(TOOLS)] for n in range(6))

    def _step(self, step: int, root: Span, tip: ContentRef) -> ContentRef:
        chance = self.chance
        noun, verb, tool = chance.choice(_NOUNS), chance.choice(_VERBS), chance.choice(self.tools)
        question = f"My {noun} of case {self.code} is {verb}, {' '.join(chance.sample(_NOTES, 8))}."
        tip = self._extend(tip, self._message("user", {"type": "text", "content": question}))
        call_id, arguments = f"call_{step:06}", {"case": self.code, "about": noun, "page": chance.randint(1, 9)}
        if chance.random() < 0.2:
            arguments["reason"] = f"{verb} {chance.choice(_NOUNS)}"
        asked = self._message(
            "assistant",
            {"type": "text", "content": f"I look at the {noun} of case {self.code} with {tool}."},
            {"type": "tool_call", "id": call_id, "name": tool, "arguments": arguments},
        )
        fails, empty = chance.random() < 0.08, chance.random() < 0.1
        answer = "Error: case is locked" if fails else "[]" if empty else f"case {self.code}: {noun} {verb}, 3 items"
        result = self._message("tool", {"type": "tool_call_response", "id": call_id, "response": answer})
        self._called(root, tip, step, asked)
        self._tooled(root, tool, call_id, arguments, answer, raises=fails and chance.random() < 0.5)
        return self._extend(tip, asked, result)

    def _called(self, root: Span, tip: ContentRef, step: int, asked: ContentRef) -> None:
        model = MODELS[self.number % len(MODELS)]
        given = {names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: model}
        llm = self._span("llm", f"chat {model}", root, given | {names.INPUT_MESSAGES_REF: tip})
        llm.attributes |= {names.OUTPUT_MESSAGES_REF: self._extend(None, asked), names.RESPONSE_ID: f"chatcmpl-{step}"}
        llm.attributes |= {names.INPUT_TOKENS: self.chance.randint(100, 4_000), names.OUTPUT_TOKENS: 20}
        self._end(llm)

    def _tooled(
        self, root: Span, name: str, call_id: str, arguments: dict[str, object], answer: str, *, raises: bool
    ) -> None:
        given = {names.OPERATION: "execute_tool", names.TOOL_NAME: name, names.TOOL_CALL_ID: call_id}
        tool = self._span("tool", f"execute_tool {name}", root, given)
        tool.attributes[names.TOOL_ARGUMENTS_REF] = self._content(arguments)
        if raises:
            _fail(tool, "LockedError", "case is locked")
        else:
            tool.attributes[names.TOOL_RESULT_REF] = self._content(answer)
        self._end(tool)


def code_of(number: int) -> str:
    """Eight characters that no other run has, and that are one word to a full-text search."""
    return f"q{number:06d}z"


def varied_runs(how_many: int) -> list[VariedRun]:
    """Runs of two to six tool calls."""
    return [VariedRun(steps=2 + number % 5, number=number) for number in range(how_many)]


def _fail(span: Span, error_type: str, message: str) -> None:
    span.status, span.status_message = STATUS_ERROR, message
    span.attributes[names.ERROR_TYPE] = error_type
    about = {"exception.type": error_type, "exception.message": message}
    span.events.append(SpanEvent("exception", span.start_ns + 1_000, about))
