"""Options of a destination: its vocabulary, how much content it receives, and what is redacted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from playhead.model.json_value import Json, JsonMapping

Vocabulary = Literal["otlp", "langfuse", "phoenix"]
ContentMode = Literal["full", "preview", "ref"]

VOCABULARIES: Final[tuple[Vocabulary, ...]] = get_args(Vocabulary)
CONTENT_MODES: Final[tuple[ContentMode, ...]] = get_args(ContentMode)
# Enough to recognise a message in a list, and at most one screen.
PREVIEW_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class OutboundOptions:
    """How spans are written for one destination.

    `content`: `full` sends everything; `preview` the first `preview_characters` characters of each value or message,
    with roles and structure; `ref` a short text with a link to the run's page. `redact` is called with each value and
    each message before it is written, and returns what may be sent; if it raises, the content is left out. `media`:
    whether the caller uploads images and files (`media_of`) to Langfuse; otherwise they stay in the text. `project`:
    name of the project in Phoenix. `attributes`: added to every span.
    """

    vocabulary: Vocabulary = "otlp"
    content: ContentMode = "full"
    preview_characters: int = PREVIEW_CHARACTERS
    redact: Callable[[Any], Any] | None = None
    media: bool = False
    project: str | None = None
    attributes: JsonMapping = field(default_factory=Json)

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid option."""
        if self.vocabulary not in VOCABULARIES:
            raise ValueError(f"there is no vocabulary {self.vocabulary!r}; use one of {', '.join(VOCABULARIES)}")
        if self.content not in CONTENT_MODES:
            raise ValueError(f"content cannot be {self.content!r}; use one of {', '.join(CONTENT_MODES)}")
        if self.preview_characters < 1:
            raise ValueError(f"preview_characters is {self.preview_characters}; give a number from 1")
