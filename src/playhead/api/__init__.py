"""[api] → capture → refs → journal → export.  Functions for users: observe, run, checkpoint, annotate, propagate."""
