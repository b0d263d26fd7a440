"""A database with very many runs, made in minutes.

    varied      runs of many agents, with different tools, texts and errors; a collector stores some hundred of them
    copied      what the tables then hold of such a run, rewritten as another run: other ids, times, texts and refs
    filling     writes the copies with COPY, packed as the store packs them
    inserted    10,000 runs of which only rows are written: for questions that read no content

Only the first step takes milliseconds per run. The rows of a copy are those that the collector would have stored for
it, and all questions about it are answered as about any run.
"""
