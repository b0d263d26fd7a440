"""[client]: the collector's API keys."""

from collections.abc import Sequence

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.operations.keys import Keys, NewKey, Revoked


class KeysOperations:
    """API keys.  If the collector has keys, these operations need one with the scope `admin`."""

    @client_method
    def keys(self) -> ApiRequest[Keys]:
        """All keys.  Of the key itself, only the first characters are shown."""
        return ApiRequest("keys")

    @client_method
    def create_key(
        self, name: str, scopes: Sequence[str] = ("ingest",), *, expires_seconds: float | None = None
    ) -> ApiRequest[NewKey]:
        """Create a key with these scopes: `ingest`, `read`, `admin`.  Only this answer contains the key."""
        return ApiRequest("keys", body={"name": name, "scopes": list(scopes), "expires_seconds": expires_seconds})

    @client_method
    def revoke_key(self, number: int) -> ApiRequest[Revoked]:
        """Revoke the key with this id.  Raises NotFound."""
        return ApiRequest(f"keys/{number}", method="DELETE")
