"""`playhead run`: starts a program that is recorded without a change of its code.

    command          finds the program, prepares its environment, and becomes the program (`exec`)
    site             a folder that is put in PYTHONPATH: Python imports its `sitecustomize` at every start
    instrumentation  what that module switches on in the started program

It needs none of the extras. Python child processes of the program are recorded, too.
"""
