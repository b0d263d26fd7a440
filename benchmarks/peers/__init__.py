"""The decorator probe: the same small programs under `@observe` and under the decorators of other tools.

`cases` are programs with what is expected of each, `tools` adapt one decorator each, `probe` runs all cases under one
tool. `python -m benchmarks.peers` runs the other tools in their own environment (`make peers PEERS=install`) and stores
what came out in `results.json`; the table in docs/decorators.md is made of that and of what Playhead does in the test.
"""
