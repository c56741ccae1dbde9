"""
Mutation testing: which small changes of the code does no test notice?

Kept runners were measured on ``fit``. mutmut 3.8 looks for a package in ``.`` and ``src``
alone, lends its path to no Python that a test starts, and changes bodies of functions
only: no table, no default. cosmic-ray 8.7 lists 5,127 changes of 3,554 lines in 18 s,
3,135 of them one binary operator for another, those of annotations too, and has one
command of tests for all: no choice by line, and no sample.
"""
