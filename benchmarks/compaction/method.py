"""What compresses a conversation. Values only."""

from collections.abc import Sequence
from typing import Protocol

from benchmarks.compaction.conversations import CutConversation
from playhead.testing.request import JsonObject


class CompressionFailed(Exception):
    """A method could not compress a conversation; the message says why."""


class Method(Protocol):
    """One way to compress, of Playhead or of another project."""

    @property
    def project(self) -> str:
        """Whose it is."""
        ...

    @property
    def title(self) -> str:
        """Name and settings, in Markdown."""
        ...

    @property
    def version(self) -> str:
        """Version of the package."""
        ...

    def compress(self, conversation: CutConversation) -> Sequence[JsonObject]:
        """Returns the messages that are left, in the form of Chat Completions, without the system prompt. Raises
        CompressionFailed."""
        ...
