"""[store]: compact forms of rows: compressed contents, pages of spans, positions of thread nodes."""
