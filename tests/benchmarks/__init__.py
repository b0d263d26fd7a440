"""The bars that the product is held to, measured: `python -m tests.benchmarks` (which is `make bench`).

    hot_path   C1 C2 C3 J1      what recording costs the thread that is recorded
    whole_cpu  C4               what it costs the process
    sent       S3               bytes on the wire
    stored     S1 S2 S4 F1      bytes in Postgres, and whether what was stored is what was sent
    taken      I1               what a collector takes
    asked      Q1 Q2            how fast it answers

Machines are noisy: times are ratios to something that is measured in the same run, and medians of several rounds.
"""
