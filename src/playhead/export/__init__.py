"""journal → [export] ══OTLP══▶ collector.  Ships what the journal keeps, from a thread of its own.

Inside: lane → cursor (frames) → shipment → delivery (content by pack, spans and log events by OTLP) → endpoint.
`ship` does this for the lane of this process, `orphans` for the lanes of dead processes.
"""
