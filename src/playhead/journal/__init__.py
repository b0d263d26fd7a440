"""refs → [journal] → export.  The durable local record: what is not yet acknowledged, and what resume reads."""
