"""Where is each value in the arguments of a tool call from, and why was the tool called?

Method: the messages that the model saw are indexed by words, numbers, dates and JSON records. Each value is searched
there first as it is, then in other forms (separators, a prefix), then as derived from other values (sums, units, dates,
composed texts). The rule that found the source gives the strength of the evidence.
"""
