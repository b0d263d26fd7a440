"""[journal]: room for what this process appends, and how it is made without holding up the program.

allowance   how much may be appended before the folder is measured      background  a job beside the program
"""
