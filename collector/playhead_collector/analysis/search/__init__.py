"""Which decisions, in all runs, were like this? Which texts have these words, and which runs saw them?

Method: a sealed run is read once, in the background. Its decisions become a record, with the result of each tool call
and the sources of its arguments (see `provenance`); its texts are given to Postgres' text search. A search finds runs
by terms, which stand for what a decision is, and then compares the decisions in their records.

    records     the decisions of a run as values, and as JSON
    terms       under which numbers a run is found
    recording   a transcript → its record and its texts
    results     what a tool call came to: ok, error, empty, ...
    indexing    puts a run into the index
    decisions   searches decisions
    texts       which texts of a content are searched, and where words stand in them
    contents    searches texts
"""
