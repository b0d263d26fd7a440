"""serve → [store]: promises. The first answer settles a promise."""
