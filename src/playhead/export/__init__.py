"""journal → [export] ══OTLP══▶ collector.  Ships what the journal keeps, from a thread of its own.

Inside: lane → cursor (frames) → shipment → delivery (content by pack, spans and log events by OTLP) → endpoint.
`ship` does that for this process's lane, `orphans` for the lanes of dead ones.
"""
