"""journal → [export] ══OTLP══▶ collector.  Ships what the journal keeps, from a thread of its own.

Inside: lane → shipment (frames) → delivery (content by pack, spans and log events by OTLP) → http. `ship` does this for
the lane of this process, `dead_lanes` for the lanes of dead processes; `destinations` for other tools than the
collector. `expiry` deletes what was delivered.
"""
