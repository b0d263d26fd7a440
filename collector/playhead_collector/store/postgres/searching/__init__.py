"""[store]: the index for searching across runs.

store   implements `ports.search` on the tables `search_run` and `search_text`

Pages are read newest first, in one of two ways. The first looks through a number of the newest rows, which is fast
where many match; the second takes all matching rows from a GIN index and sorts them, which is fast where few match. The
caller tries the first way, and then the second if the first found too little. Postgres cannot choose well by itself,
because it does not know how often terms occur together.
"""
