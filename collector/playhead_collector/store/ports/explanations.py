"""The store's interface for explanations: texts of a model about a run, stored so that each is requested only once."""

from typing import Protocol

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef


class ExplanationStore(Protocol):
    """A cache of explanations. The key is the content that the model got as input, and the model."""

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        """Returns the ref of the explanation by this model, or by any model if `model` is None; None when there is
        none."""
        ...

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        """Stores an explanation durably, and replaces an earlier one by the same model. It is deleted with the run, and
        not stored if the run was deleted."""
        ...
