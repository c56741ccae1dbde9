"""
Rebuilding the tables of the engines' arguments from the engines' packages.
"""
