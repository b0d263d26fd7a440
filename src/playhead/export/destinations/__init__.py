"""shipment → [destinations] → Langfuse, Phoenix, any OTLP backend.  Delivery without a collector in between.

target        address and headers of a destination, and how spans are written
contents      the content that spans of a lane refer to
requests      one POST, and what its answer means
delivery      shipment → spans in the destination's vocabulary → requests
"""
