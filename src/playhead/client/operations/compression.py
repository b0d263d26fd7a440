"""[client]: compressions of contexts, and what they dropped"""

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers.analysis.compression import Compression, CompressionAudit


class CompressionOperations:
    """Compressions of contexts, and what they dropped"""

    @listed
    def compressions(self, run: str, *, limit: int | None = None) -> Listing[Compression]:
        """Where contexts lost messages, declared or not."""
        return Listing(run_path(run, "compressions"), {}, limit)

    @asked
    def compression(self, run: str, at: int | str) -> Question[CompressionAudit]:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return Question(run_path(run, "compressions", str(at)))
