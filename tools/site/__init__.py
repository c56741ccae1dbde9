"""
The pages of the documentation site that are made from the code, as text.

What belongs here reads the library, its tests' examples and its examples, and returns
pages by their paths; it writes no file.
"""
