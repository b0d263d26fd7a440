"""[client]: the collector's keys."""

from collections.abc import Sequence

from playhead.client.operation import Question, asked
from playhead.wire.answers.keys import Keys, NewKey, Revoked


class KeysOperations:
    """Keys: who may do what.  All of these need a key with the scope `admin`, once there is any."""

    @asked
    def keys(self) -> Question[Keys]:
        """All keys, by their beginnings."""
        return Question("keys")

    @asked
    def create_key(
        self, name: str, scopes: Sequence[str] = ("ingest",), *, expires_seconds: float | None = None
    ) -> Question[NewKey]:
        """Make a key that may do this: `ingest`, `read`, `admin`.  Only this answer ever shows it."""
        return Question("keys", body={"name": name, "scopes": list(scopes), "expires_seconds": expires_seconds})

    @asked
    def revoke_key(self, number: int) -> Question[Revoked]:
        """It is a key no more.  Raises NotFound."""
        return Question(f"keys/{number}", method="DELETE")
