"""[api] → capture → refs → journal → export.  What users type: observe, run, checkpoint, annotate, propagate."""
