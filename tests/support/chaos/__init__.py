"""Random SIGKILLs at an agent with parallel branches, whose schedule is another one in every attempt.

`agent` is the program, `starting` starts it and kills it, `chain` resumes it until it is done and looks at what came of
it, `many` runs chains in parallel against one collector and one model.
"""
