"""The prompts that the program has rendered of sections, so that a model call that sends one is recorded with its mode
and its sections. Safe for threads and for forks."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from playhead.kernel.forks import ForkSafeLock

# A program has few prompts; one that puts a text of its own into each is not remembered for ever.
_MOST = 256
# A program may add to a rendered prompt: then the newest of so many is looked for at the beginning of the text.
_MOST_BEGINNINGS = 16


@dataclass(frozen=True, slots=True)
class PromptRendering:
    """A prompt as it was rendered. `sections`: their names in order, each with its estimated tokens."""

    text: str
    mode: str
    sections: tuple[tuple[str, int], ...]


class _Rendered:
    lock = ForkSafeLock()
    by_text: ClassVar[OrderedDict[str, PromptRendering]] = OrderedDict()


def remember_prompt(prompt: PromptRendering) -> None:
    """Adds a prompt. An earlier one with the same text is replaced."""
    with _Rendered.lock:
        _Rendered.by_text.pop(prompt.text, None)
        _Rendered.by_text[prompt.text] = prompt
        while len(_Rendered.by_text) > _MOST:
            _Rendered.by_text.popitem(last=False)


def has_prompts() -> bool:
    """Whether any prompt was rendered in this process."""
    return bool(_Rendered.by_text)


def prompt_among(texts: Iterable[str]) -> PromptRendering | None:
    """Returns the rendered prompt that is one of these texts, or the beginning of one; None if there is none."""
    with _Rendered.lock:
        latest = [*islice(reversed(_Rendered.by_text.values()), _MOST_BEGINNINGS)]
        for text in texts:
            exact = _Rendered.by_text.get(text)
            if exact is not None:
                return exact
            begun = [prompt for prompt in latest if prompt.text and text.startswith(prompt.text)]
            if begun:
                return max(begun, key=lambda prompt: len(prompt.text))
    return None
