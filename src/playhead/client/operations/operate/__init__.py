"""[client]: operations for people who run a collector: keys, deletion, forwarding, storage."""
