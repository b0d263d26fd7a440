"""serve → [store]: promises, which the first answer settles."""
