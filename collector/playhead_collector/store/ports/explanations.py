"""What [store] promises about explanations: what a model said about something, kept so that it is asked once."""

from typing import Protocol

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef


class ExplanationStore(Protocol):
    """Knows what was said about something, by what was shown to the model that said it.  A cache."""

    async def explanation(self, project: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        """What this model said, or any when none is named; None when it was not asked."""
        ...

    async def keep_explanation(
        self, project: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        """Durable once this returns; replaces what the model said before.  It goes with the run, and is not kept when
        that is gone already."""
        ...
