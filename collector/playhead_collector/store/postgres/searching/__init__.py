"""[store]: the index for searching across runs.

store   implements `ports.search` on the tables `search_run` and `search_text`

Pages are read newest first in one of two ways. Either some newest rows are looked through, which is fast where many
fit; or all that fit are taken from a GIN index and sorted, which is fast where few do. The caller tries the first, and
goes on with the second if it found too little. Postgres cannot choose well by itself: it does not know how terms occur
together.
"""
