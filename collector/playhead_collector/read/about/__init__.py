"""[read]: what is stored, seen from the contents: what a content is, and who had it."""
