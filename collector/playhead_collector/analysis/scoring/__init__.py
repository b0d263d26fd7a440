"""[analysis]: scores runs that have ended: by rules, and by the operator's model. Functions run in `workers`.

reading   a run as what a scorer is given    rules   checks of a run, declared as JSON    judge   a model that judges
judge_run   the judge's calls as a recorded run    definitions   what a scorer is, and whether it can be so
"""
