"""A worker process that never says that it is ready, and ends when its stdin does."""

import sys

if __name__ == "__main__":
    while sys.stdin.buffer.read(1 << 16):
        pass
