"""Tokens of a context: estimates of its messages, corrected by what the provider reports. Pure."""

from dataclasses import dataclass
from typing import Self

from playhead.context.report import Basis
from playhead.model.json_value import Json, JsonMapping, int_at, list_of

# A second report corrects the factor if the context has grown by this share of it, and by so many tokens.
_ENOUGH_SHARE, _ENOUGH_TOKENS = 0.2, 200
# Bytes per token differ by language, but not more.
_LEAST, _MOST = 0.25, 4.0


@dataclass(frozen=True, slots=True)
class _UsageReport:
    estimate: int
    reported: int


class TokenMeter:
    """Reports and estimates of one context. `factor`: tokens for each estimated one. `fixed`: tokens that no message
    has, such as those of tools' definitions."""

    __slots__ = ("_first", "_last", "factor", "fixed")

    def __init__(self) -> None:
        self._first: _UsageReport | None = None
        self._last: _UsageReport | None = None
        self.factor = 1.0
        self.fixed = 0

    @classmethod
    def from_json(cls, value: JsonMapping) -> Self:
        """Returns the meter that `to_json` described; what cannot be read is as in a new one."""
        meter = cls()
        factor = value.get("factor")
        if isinstance(factor, int | float):
            meter.factor = min(_MOST, max(_LEAST, float(factor)))
        meter.fixed = max(0, int_at(value, "fixed"))
        meter._first, meter._last = _report_of(value.get("first")), _report_of(value.get("last"))
        return meter

    def to_json(self) -> Json:
        """Returns the meter as JSON values."""
        value: Json = {"factor": self.factor, "fixed": self.fixed}
        for name, report in (("first", self._first), ("last", self._last)):
            if report is not None:
                value[name] = [report.estimate, report.reported]
        return value

    def reported(self, estimate: int, tokens: int) -> None:
        """Notes that the provider reported `tokens` for messages with this estimate."""
        if estimate <= 0 or tokens <= 0:
            return
        self._last = last = _UsageReport(estimate, tokens)
        first = self._first = self._first or last
        growth = last.estimate - first.estimate
        if growth >= max(_ENOUGH_TOKENS, _ENOUGH_SHARE * first.estimate):
            self.factor = min(_MOST, max(_LEAST, (last.reported - first.reported) / growth))
        elif first is last:
            self.factor = min(1.0, tokens / estimate)
        # What the messages do not explain stays when they go.
        self.fixed = max(0, round(tokens - self.factor * estimate))

    def tokens(self, estimate: int) -> int:
        """Returns the tokens of a context whose messages have this estimate."""
        last = self._last
        if last is not None and last.estimate == estimate:
            return last.reported
        return self.fixed + round(self.factor * estimate)

    def as_estimate(self, tokens: int) -> int:
        """Returns a number of tokens in the unit of the estimates."""
        return round(tokens / self.factor)

    def basis(self, estimate: int) -> Basis:
        """How `tokens(estimate)` is known."""
        if self._last is None:
            return "estimated"
        return "reported" if self._last.estimate == estimate else "calibrated"


def _report_of(value: object) -> _UsageReport | None:
    numbers = [number for number in list_of(value) if isinstance(number, int)]
    return _UsageReport(*numbers) if len(numbers) == 2 else None
