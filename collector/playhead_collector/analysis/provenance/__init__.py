"""Where is each value in the arguments of a tool call from, and why was the tool called?

Method: the messages that the model saw are indexed by words, numbers, dates and JSON records; each value is looked up
there as it stands, then in other forms (separators, case, units), then as derived (sums, dates, composed texts).  The
rule that found a source says how strong the evidence is.
"""
