"""
One program a library, each run in the environment that has it.
"""
