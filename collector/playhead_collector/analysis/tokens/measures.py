"""[analysis]: tokens of a run's messages and contexts: reported, else estimated and scaled with reported numbers."""

from collections.abc import Iterable, Mapping, Sequence

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_message, estimate_value
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.read.token_estimates import REPORTED, Scale, TokenCount, answer_token_count


class TokenCounts:
    """Numbers of tokens in one run.  Pure."""

    def __init__(self, transcript: Transcript, scales: Mapping[str | None, Scale]) -> None:
        self._story = transcript
        self._scales = scales
        self._estimates = TokenEstimates(transcript)

    def scale(self, turn: Turn | None) -> Scale:
        """The scale of estimates for the model of this call."""
        return self._scales.get(model_of(turn), Scale()) if turn else Scale()

    def message(self, event: ev.MessageAdded, turn: Turn | None) -> TokenCount:
        """Tokens of a message: reported, else estimated."""
        if event.tokens is not None:
            return event.tokens, REPORTED
        if turn is not None and turn.outputs == [event]:
            reported = answer_token_count(usage_of(turn))
            if reported is not None:
                return reported, REPORTED
        return self.refs([event.message], self.scale(turn))

    def refs(self, refs: Iterable[ContentRef | None], scale: Scale) -> TokenCount:
        """Estimated tokens of these messages together; (None, None) if one of them is not stored."""
        estimates = [self._estimates.message(ref) for ref in refs]
        known_estimates = [estimate for estimate in estimates if estimate is not None]
        return (
            (scale.tokens(sum(known_estimates)), scale.basis)
            if len(known_estimates) == len(estimates)
            else (None, None)
        )

    def output(self, turn: Turn) -> TokenCount:
        """Tokens of the call's output; 0 if it has none."""
        reported = usage_of(turn).output_tokens
        if reported is not None:
            return reported, REPORTED
        return self.refs([event.message for event in turn.outputs], self.scale(turn))

    def context(self, turn: Turn) -> TokenCount:
        """Tokens of the call's whole input; (None, None) if unknown."""
        usage = usage_of(turn)
        if usage.input_tokens is not None:
            return usage.input_tokens, REPORTED
        estimate = self._estimates.context(turn)
        scale = self.scale(turn)
        return (None, None) if estimate is None else (scale.tokens(estimate), scale.basis)


class TokenEstimates:
    """Unscaled estimates of the tokens of a run's messages and contexts, each computed once."""

    def __init__(self, transcript: Transcript) -> None:
        self._story = transcript
        self._messages: dict[ContentRef, float | None] = {}
        self._threads: dict[ContentRef, float | None] = {}

    def message(self, ref: ContentRef | None) -> float | None:
        """Estimate of one message; None when it is not stored."""
        if ref is None:
            return None
        if ref not in self._messages:
            message = self._story.message(ref)
            self._messages[ref] = None if message is None else estimate_message(message)
        return self._messages[ref]

    def context(self, turn: Turn) -> float | None:
        """Estimate of the whole input of a call; None when a part of it is not stored."""
        begin, cache = turn.begin, self._story.cache
        others = sum(estimate_value(cache.parsed(ref)) for ref in (begin.system, begin.tools, begin.input) if ref)
        if begin.thread is None:
            return others or None
        thread = self._thread(begin.thread)
        return None if thread is None else thread + others

    def _thread(self, ref: ContentRef) -> float | None:
        path: list[ContentRef] = []
        here: ContentRef | None = ref
        while here is not None and here not in self._threads and here in self._story.nodes:
            path.append(here)
            here = self._story.nodes[here].parent
        total = 0.0 if here is None else self._threads.get(here)
        for node_ref in reversed(path):
            message = self.message(self._story.nodes[node_ref].message)
            total = None if total is None or message is None else total + message
            self._threads[node_ref] = total
        return self._threads.get(ref)


def model_of(turn: Turn | None) -> str | None:
    """Name of the requested model, else of the model that answered; None if neither is recorded."""
    return None if turn is None else turn.begin.model or (turn.end.model if turn.end else None)


def usage_of(turn: Turn) -> ev.TokenUsage:
    """Token usage as the provider reported it."""
    return turn.end.usage if isinstance(turn.end, ev.LlmCompleted) else ev.TokenUsage()


def known_sum(numbers: Sequence[int | None]) -> int | None:
    """The sum of the numbers that are not None; None if there are none."""
    known_numbers = [number for number in numbers if number is not None]
    return sum(known_numbers) if known_numbers else None
