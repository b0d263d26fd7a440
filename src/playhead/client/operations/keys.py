"""[client]: the collector's keys."""

from collections.abc import Sequence

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.answers.keys import Keys, NewKey, Revoked


class KeysOperations:
    """Keys: who may do what.  All of these need a key with the scope `admin`, once there is any."""

    @client_method
    def keys(self) -> ApiRequest[Keys]:
        """All keys, by their beginnings."""
        return ApiRequest("keys")

    @client_method
    def create_key(
        self, name: str, scopes: Sequence[str] = ("ingest",), *, expires_seconds: float | None = None
    ) -> ApiRequest[NewKey]:
        """Make a key that may do this: `ingest`, `read`, `admin`.  Only this answer ever shows it."""
        return ApiRequest("keys", body={"name": name, "scopes": list(scopes), "expires_seconds": expires_seconds})

    @client_method
    def revoke_key(self, number: int) -> ApiRequest[Revoked]:
        """It is a key no more.  Raises NotFound."""
        return ApiRequest(f"keys/{number}", method="DELETE")
