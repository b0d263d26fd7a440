"""A system prompt of sections, of which each request gets those of its mode.

    prompt = Prompt(
        sections={"core": CORE, "design": DESIGN, "data": DATA},
        modes={"general": ["core"], "creation": ["core", "design"], "analysis": ["core", "data"]},
        choose=[by_words({"creation": ["create", "draw"], "analysis": ["why", "compare"]}),
                by_tools({"creation": ["add_page"]})],
    )
    text = prompt.render(message=question, tools=recent_tools)

A model call that sends a rendered prompt is recorded with the mode and the sections, and `playhead tokens --split` says
what each section cost.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from playhead.calls.rendered_prompts import PromptRendering, remember_prompt
from playhead.kernel.guard import guarded, warn_once
from playhead.model.token_estimates import estimate_value

ChooseMode = Callable[[str, Sequence[str]], str | None]
"""Returns the mode for a message and the names of the tools used so far, the last one last; None: cannot tell."""

_WORD = re.compile(r"\w{1,100}+")
_MOST_CHARACTERS = 20_000
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class PromptSavings:
    """What the modes have saved. Tokens are estimates. `tokens`: of the rendered prompts; `whole_tokens`: of the prompt
    with all sections, as often. `modes`: how often each was rendered."""

    renders: int
    tokens: int
    whole_tokens: int
    modes: Mapping[str, int]

    @property
    def saved(self) -> int:
        """Tokens that were not sent."""
        return self.whole_tokens - self.tokens

    @property
    def share(self) -> float:
        """Share (0 to 1) of the tokens that was not sent."""
        return self.saved / self.whole_tokens if self.whole_tokens else 0.0


class Prompt:
    """A system prompt of sections. Safe for threads.

    `sections`: texts by name. `modes`: for each mode the names of its sections, in order. `choose`: a function of
    message and tools, or several of which the first answer counts; see `by_words` and `by_tools`. `default`: the mode
    where none of them can tell; None: the first one. Raises ValueError for names that there are not.

    A change of mode changes the beginning of the context, which empties a provider's cache from there on. So sections
    that all modes have come first, whatever their place in a mode is.
    """

    def __init__(
        self,
        sections: Mapping[str, str],
        modes: Mapping[str, Sequence[str]],
        choose: ChooseMode | Sequence[ChooseMode] = (),
        *,
        default: str | None = None,
    ) -> None:
        _check(sections, modes, default)
        self._sections = dict(sections)
        self._modes = {mode: _stable_first(names, sections, modes.values()) for mode, names in modes.items()}
        self._choose: Sequence[ChooseMode] = [choose] if callable(choose) else [*choose]
        self._default = next(iter(modes)) if default is None else default
        self._tokens = {name: round(estimate_value(text)) for name, text in sections.items()}
        self._lock = threading.Lock()
        self._rendered: Counter[str] = Counter()

    @property
    def modes(self) -> Mapping[str, Sequence[str]]:
        """The names of the sections of each mode, in the order in which they are rendered."""
        return {mode: tuple(names) for mode, names in self._modes.items()}

    def mode_for(self, message: str = "", tools: Sequence[str] = ()) -> str:
        """Returns the mode for a message, and the names of the tools used so far (the last one last).

        A function that raises, or that returns a mode that there is not, cannot tell: that is logged."""
        for choose in self._choose:
            with guarded("choose the mode of a prompt"):
                mode = choose(message, tools)
                if mode in self._modes:
                    return mode
                if mode is not None:
                    warn_once(f"prompt mode {mode!r}", f"{mode!r} is no mode of the prompt: {', '.join(self._modes)}")
        return self._default

    def render(self, message: str = "", tools: Sequence[str] = (), *, mode: str | None = None) -> str:
        """Returns the prompt for a message, and the names of the tools used so far (the last one last). `mode`: this
        one, without choosing. Raises ValueError for a `mode` that there is not."""
        if mode is None:
            mode = self.mode_for(message, tools)
        elif mode not in self._modes:
            raise ValueError(f"render(mode={mode!r}): expected one of {', '.join(self._modes)}")
        names = self._modes[mode]
        text = _BETWEEN.join(self._sections[name] for name in names)
        with self._lock:
            self._rendered[mode] += 1
        remember_prompt(PromptRendering(text, mode, tuple((name, self._tokens[name]) for name in names)))
        return text

    def savings(self) -> PromptSavings:
        """Returns what the modes have saved, against all sections in each request."""
        with self._lock:
            modes = dict(self._rendered)
        tokens = {mode: sum(self._tokens[name] for name in self._modes[mode]) for mode in modes}
        renders = sum(modes.values())
        return PromptSavings(
            renders,
            sum(count * tokens[mode] for mode, count in modes.items()),
            renders * sum(self._tokens.values()),
            modes,
        )


def _check(sections: Mapping[str, str], modes: Mapping[str, Sequence[str]], default: str | None) -> None:
    if not modes:
        raise ValueError("Prompt(modes={}): give at least one mode")
    for mode, names in modes.items():
        if unknown := [name for name in names if name not in sections]:
            raise ValueError(f"the mode {mode!r} has sections that there are not: {', '.join(unknown)}")
    if default is not None and default not in modes:
        raise ValueError(f"Prompt(default={default!r}): expected one of {', '.join(modes)}")


def _stable_first(names: Sequence[str], sections: Iterable[str], modes: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Returns the sections that all modes have, in the order of `sections`, then the others of this mode in its
    order."""
    everywhere = set[str](sections).intersection(*modes)
    return *(name for name in sections if name in everywhere), *(name for name in names if name not in everywhere)


# --- choosing ---------------------------------------------------------------------------------------------------------


def by_words(words: Mapping[str, Iterable[str]]) -> ChooseMode:
    """Returns a function that chooses the mode with most of its words in the message; of equals, the first one.

    Case does not count. `"creat*"` stands for all words that begin so, `"pull request"` for words in this order.
    """
    wanted = {mode: [word.casefold() for word in its] for mode, its in words.items()}

    def choose(message: str, tools: Sequence[str] = ()) -> str | None:
        said = _WORD.findall(message[:_MOST_CHARACTERS].casefold())
        found = {mode: sum(_is_said(word, said) for word in its) for mode, its in wanted.items()}
        best = max(found, key=lambda mode: found[mode], default=None)
        return best if best is not None and found[best] else None

    return choose


def _is_said(wanted: str, said: Sequence[str]) -> bool:
    if wanted.endswith("*"):
        return any(word.startswith(wanted[:-1]) for word in said)
    parts = _WORD.findall(wanted)
    if len(parts) == 1:
        return parts[0] in said
    return bool(parts) and any(
        [*said[place : place + len(parts)]] == parts for place in range(len(said) - len(parts) + 1)
    )


def by_tools(tools: Mapping[str, Iterable[str]]) -> ChooseMode:
    """Returns a function that chooses the mode to which the tool belongs that was used last."""
    modes = {tool: mode for mode, its in tools.items() for tool in its}

    def choose(message: str, tools: Sequence[str] = ()) -> str | None:
        return next((modes[tool] for tool in reversed(tools) if tool in modes), None)

    return choose
