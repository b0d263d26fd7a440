"""shipment → [destinations] → Langfuse, Phoenix, any OTLP backend.  Delivery without a collector in between.

target        address and headers of a destination, and how spans are written
delivery      shipment, with the content that its spans refer to → spans in the destination's vocabulary → requests
requests      one POST, and what its answer means
"""
