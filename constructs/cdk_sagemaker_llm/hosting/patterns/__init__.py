"""
Patterns that compose the building blocks with right defaults, and the dashboard of what
they make.
"""
