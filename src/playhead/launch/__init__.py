"""`playhead run`: starts a program that is recorded without a change of its code.

    command  finds the program, prepares its environment, and becomes the program (`exec`); switches recording on in it
    site     a folder that is put in PYTHONPATH: Python imports its `sitecustomize` at every start

It needs none of the extras. Python child processes of the program are recorded, too.
"""
