"""analysis → [workers] → serve.  Answers analysis questions in separate processes.

    serve → pool → process ═stdin, stdout═▶ worker → questions → read, analysis → store

    questions  the table of questions; a question → its answer as JSON    ports     how serve asks; answers in process
    pool       a bounded queue in front of the processes                  failures  errors as JSON, and back
    process    one worker process: start, questions, end                  frames    messages on a pipe
    worker     the program that runs in the process                       setup     settings that it gets at its start
    priority   gives the processes a lower priority than ingest           indexer   indexes sealed runs for search

The time of an analysis grows with the length of a run. In the process that receives spans it would hold the
interpreter; here it has limits of time and memory, and a low priority.
"""
