"""
Mutation testing: which small changes of the code does no test notice?

Run it with ``make mutants``; it is too slow for every change, and is not part of it.
"""
