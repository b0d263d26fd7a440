"""refs → [journal] → export. The durable local record: holds what the collector has not acknowledged, and what resume
reads.
"""
