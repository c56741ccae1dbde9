"""
Following Python that is read as text: what a package's own code would make of its own
declarations, without importing it.

It evaluates what declarations are written in (constants, hints, calls of small
functions, loops over what is known), and refuses whatever depends on anything else.
"""
