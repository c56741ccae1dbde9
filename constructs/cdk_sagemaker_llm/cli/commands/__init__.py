"""
The subcommands: a module each, found by its name; names in ``_`` are what they share.
"""
