"""
Mutation testing: which small changes of the code does no test notice?

Kept runners were measured on ``fit``: mutmut 3.8 finds no package in ``constructs``,
gives its path to no Python that a test starts, and changes no table of a module.
cosmic-ray 8.7 makes 5,127 changes of 3,554 lines, 3,135 of them one binary operator for
another, even in annotations, and has one list of tests for all of them and no sample.
"""
