"""[store]: which runs had a content, and how many of their model calls were given it.

The index is written when a sealed run is packed, in the background: the transaction that projects a run does nothing
for it. What is packed with a run is found by its pack, which names at most 16 runs; these are read. What was packed
before, as a system prompt that many runs have, stands in the run's row of `content_use`, with the number of calls.
"""
