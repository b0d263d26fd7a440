"""[read]: about what is stored: what a content is and which runs had it, and how much is stored."""
