"""A model chosen by a judge, which reads what the user wants.

Router(judge="gpt-4o-mini", to={"simple": "gpt-4o-mini", "hard": "gpt-5"}, default="hard")
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

from playhead.api.observe import observe
from playhead.calls.lifecycle import current_span
from playhead.errors import is_run_stopped
from playhead.kernel.guard import log
from playhead.model.message import message_text, text_message
from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, ModelLike, complete, complete_async
from playhead.models.model import ModelRequest
from playhead.models.settled_choices import ModelChoice, PerRun, decided, name_of

AskKind = Callable[[CallSituation], str]
"""Returns the name of a kind."""

PROMPT = "Which kind of request is the following? Answer with one word and nothing else: {kinds}."
_MOST_CHARACTERS, _MOST_TOKENS = 8_000, 1_000
_WORD = re.compile(r"[\w-]{1,100}+")


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    reason: str


class Router(ModelChooser):
    """Asks a judge for the kind of the request, and uses the model of that kind.

    `judge`: a model (or its name) that is asked with `prompt` and the user's newest message, or a function of the call
    that returns the name of a kind. `to`: a model for each kind. `default`: the kind where the judge names none, or
    fails; None: the first one. The judge is asked when the newest message is the user's; calls that read results of
    tools, or correct an answer, stay with the kind that their agent had last. The judge's call is recorded under a step
    `route`. `{kinds}` in `prompt` stands for the names.
    """

    def __init__(
        self,
        judge: ModelLike | AskKind,
        to: Mapping[str, ModelLike],
        *,
        default: str | None = None,
        prompt: str = PROMPT,
    ) -> None:
        if not to or (default is not None and default not in to):
            raise ValueError(f"Router(to=..., default={default!r}): expected one of {', '.join(to) or 'some kinds'}")
        is_model = isinstance(judge, str) or hasattr(judge, "complete")
        self._judge = cast(ModelLike, judge) if is_model else None
        self._function = None if is_model else cast(AskKind, judge)
        self._to = dict(to)
        self._default = next(iter(to)) if default is None else default
        self._prompt = prompt.replace("{kinds}", ", ".join(to))
        self._latest: PerRun[dict[str | None, str]] = PerRun(lambda _: {}, by_agent=True)
        self.name = f"router to {', '.join(to)}"

    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> ModelLike | None:
        """See `ModelChooser`."""
        if failed:
            return None
        kind = self._known(situation)
        if kind is None:
            try:
                kind = self._read(self._asked(situation))
            except Exception as error:  # noqa: BLE001 - a judge that fails must not fail the call
                kind = self._without_judge(error)
        return self._routed(situation, kind)

    async def choose_async(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> ModelLike | None:
        """See `ModelChooser`."""
        if failed or self._judge is None:
            return self.choose(situation, failed)
        kind = self._known(situation)
        if kind is None:
            try:
                with _step():
                    kind = self._read((await complete_async(self._judge, self._request(situation))).text)
            except Exception as error:  # noqa: BLE001 - see above
                kind = self._without_judge(error)
        return self._routed(situation, kind)

    def _known(self, situation: CallSituation) -> _Kind | None:
        """Returns the kind that the agent had last, if the newest message is not the user's."""
        if situation.messages and situation.messages[-1]["role"] == "user" and not situation.is_correction:
            return None
        latest = self._latest.here().get(situation.agent)
        return None if latest is None else _Kind(latest, "the kind of the request that is being answered")

    def _asked(self, situation: CallSituation) -> str:
        if self._function is not None:
            return self._function(situation)
        with _step():
            return complete(cast(ModelLike, self._judge), self._request(situation)).text

    def _request(self, situation: CallSituation) -> ModelRequest:
        asked = [message for message in situation.messages if message["role"] == "user"]
        text = message_text(asked[-1])[:_MOST_CHARACTERS] if asked else ""
        return ModelRequest([text_message("user", text)], max_tokens=_MOST_TOKENS, system=self._prompt)

    def _read(self, answer: str) -> _Kind:
        """Returns the first kind that the judge names."""
        kinds = {kind.casefold(): kind for kind in self._to}
        whole = kinds.get(answer.strip().casefold())
        named = [kinds[word] for word in _WORD.findall(answer[:_MOST_CHARACTERS].casefold()) if word in kinds]
        if whole is None and not named:
            return _Kind(self._default, f"the judge named no kind: {answer[:100]!r}")
        return _Kind(whole or named[0], f"the judge: {whole or named[0]}")

    def _without_judge(self, error: Exception) -> _Kind:
        """Returns the default kind; raises the error itself where the run stops."""
        if is_run_stopped(error):
            raise error
        log.warning("the judge of a %s failed, so that %s is used", self.name, self._default, exc_info=error)
        return _Kind(self._default, f"the judge failed: {type(error).__name__}: {str(error)[:200]}")

    def _routed(self, situation: CallSituation, kind: _Kind) -> ModelLike:
        self._latest.here()[situation.agent] = kind.name
        model = self._to[kind.name]
        decided(ModelChoice(name_of(model), kind.reason), map(name_of, self._to.values()))
        return model


def _step() -> AbstractContextManager[object]:
    return nullcontext() if current_span() is None else observe("route")
