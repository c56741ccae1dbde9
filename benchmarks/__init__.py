"""
Measured comparisons, each one command.
"""
