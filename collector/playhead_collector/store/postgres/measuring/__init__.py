"""[store]: measures how much is stored.  `store`: sizes of tables, and samples of contents and runs."""
