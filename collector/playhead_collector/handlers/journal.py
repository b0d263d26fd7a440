"""What handlers are given over a journal beside its record store, which projects a run when it is read."""


class NothingToProject:
    """A projector that does nothing, because the store projects each run when it is read."""

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing."""

    async def catch_up(self, project_id: int) -> None:
        """Does nothing."""
