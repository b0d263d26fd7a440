"""[project]: contexts of model calls: what was added, what left, and whether that is a compression."""
