"""analysis → [workers] → serve.  The analysis questions, answered by processes of their own.

    serve → pool → process ═stdin, stdout═▶ worker → questions → read → store

questions  which there are; a question → the bytes of its answer      asking    what serve asks through; in process
pool       who waits, for how long, and which process is free         failures  errors as JSON, and back
process    one worker process: started, asked, ended                  frames    messages on a pipe
worker     the program that runs there                                setup     what it is told when it starts

An analysis computes for as long as a run is long. In the process that takes spans it would hold the interpreter, and
one that never ends would hold it for good; here it has a time, memory, and a priority below everything else.
"""
