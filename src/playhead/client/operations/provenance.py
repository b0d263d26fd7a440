"""[client]: why tools were called, and where their arguments are from"""

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers.analysis.provenance import Attribution


class ProvenanceOperations:
    """Why tools were called, and where their arguments are from"""

    @listed
    def attributions(self, run: str, *, limit: int | None = None) -> Listing[Attribution]:
        """Why each tool was called, and where every value in its arguments is from."""
        return Listing(run_path(run, "attributions"), {}, limit)

    @asked
    def why(self, run: str, at: int | str) -> Question[Attribution]:
        """Why the tool was called that this event is part of, and where every value in its arguments is from."""
        return Question(run_path(run, "attributions", str(at)))
