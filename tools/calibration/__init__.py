"""
The constants of the model of a step, from published measurements, and how far off it
is on those that it has not seen.
"""
