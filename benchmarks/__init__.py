"""The bars that the product is held to, measured: `python -m benchmarks` (which is `make bench`).

    hot_path   C1 C2 C3         what recording costs the thread that is recorded
    journaled  J1 J3            what an append costs, alone and among 1,000 sessions
    replayed   R2 J2            how fast a record answers, and what keeping it costs a step
    local_read J4               how long a command takes to read one run of a journal with many
    command_start B1            what a command costs that asks a collector, and its help
    short_lived J5              what 10,000 short-lived processes left costs the next program
    killed     R1               whether a killed agent goes on where it was
    killed_examples R1A         the same of the examples with an agent
    long_context M1 M2         what a late turn of a long managed conversation costs, and how it is resumed
    durable    MATRIX           what becomes of a changed program, here and in durable engines
    whole_cpu  C4               what it costs the process
    sent       S3               bytes on the wire
    stored     S1 S2 S4 S5 F1 F2 bytes in Postgres, and whether what was stored is what was sent
    taken      I1, I1G          what a collector takes
    forwarded  I1F              what forwarding costs that
    foreign    I2               the same of other people's spans, beside a real Phoenix
    asked      Q1 Q2            how fast it answers
    sweep      SWEEP            whether it answers everything about every event; only with `--only SWEEP`

Machines are noisy: times are ratios to something that is measured in the same run, and medians of several rounds.
"""
