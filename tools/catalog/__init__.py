"""
Rebuilding the packaged data from where it came: ``python -m tools.catalog``.
"""
