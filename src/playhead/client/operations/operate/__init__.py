"""[client]: operations of those who run a collector: keys, deletion, forwarding."""
