"""[store]: which runs had a content, and how many of their model calls had it as input.

The index is written in the background, when a sealed run is packed, so it adds nothing to the transaction that projects
a run. A content that was packed together with a run is found by its pack, which names at most 16 runs; these runs are
read. A content that had been packed earlier, such as a system prompt of many runs, is listed in the run's row of
`content_use` with the number of model calls.
"""
