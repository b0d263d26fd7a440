"""analysis → [workers] → serve.  Answers analysis questions in separate processes.

    serve → pool → process ═stdin, stdout═▶ worker → questions → read, analysis → store

    questions  the table of questions; a question → its answer as JSON    worker    the program that runs in the process
    ports      how serve asks; answers in this process                    protocol  frames, settings and errors on pipes
    pool       a bounded queue before the processes
    process    one worker process: start, questions, priority, end        indexer   indexes sealed runs for search
    outcome_finder  finds out what lists say of runs: answers, suspects, costs

The time of an analysis grows with the length of a run. In the process that receives spans it would hold the
interpreter; here it has limits of time and memory, and a low priority.
"""
