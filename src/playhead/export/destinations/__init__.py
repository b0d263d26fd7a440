"""shipment → [destinations] → Langfuse, Phoenix, any OTLP backend.  Delivery without a collector in between.

target        where: address, headers, and how spans are written
contents      the content that spans of a lane refer to
requests      one POST, and what its answer means
delivery      shipment → spans in the destination's words → requests
"""
