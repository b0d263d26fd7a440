"""store → [retain]: deletes content that no run names any more, after a grace period."""
