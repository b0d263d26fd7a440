"""store → project → [read] → serve.  One file per question; each gathers what it needs and answers with a pure core.

record     a run that is known and projected: what most questions begin with
runs       which runs, and a run's summary        events     the log of a run
moment     which seq is meant; state at it        context    what the model saw at a call
calls      model and tool calls                   history    who said what
reasoning  what the model was thinking            trace      the tree of spans
content    what a ref names                       values     hydration: refs → values
why        why each tool was called              decisions  where the agent chose
causal     what rests on what                    siblings   what was chosen elsewhere
paging     cursors                                times      RFC 3339

What "why" is answered with: turns (a run, call by call), contexts and passages (what each call saw, indexed), words;
provenance (where values are from), by the rules in smallness, composed, derived, dated and computed; attribution.
"""
