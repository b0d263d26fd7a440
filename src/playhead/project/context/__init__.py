"""[project]: contexts of model calls: added and removed messages, and whether a removal is a compression."""
