"""Which decisions of all runs have these properties? Which texts have these words, and which runs saw them?

Method: each sealed run is read once, in the background. Its decisions become a record, with the result of each tool
call and the sources of its arguments (see `provenance`). A search finds runs by terms (hashes of the properties of
decisions), and then compares the decisions in the records of these runs. Likewise, it finds contents by hashes of their
words, and then looks for the words in the texts themselves.

    records     the decisions of a run as values and as JSON, with the result of each tool call in one word
    terms       the hashes by which a run is found
    words       splits a text into words, in any script
    text_terms  the hashes by which a text is found
    query       the words that are asked for: parsed, as hashes, and found in a text
    indexing    a transcript → its record and its texts, which it puts into the index
    decisions   searches decisions
    texts       the searched text of a content, and quotes of the words that were found
    contents    searches texts
"""
