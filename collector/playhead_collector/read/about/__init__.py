"""[read]: facts about stored data: the kind and the uses of a content, and how much is stored."""
