"""
The ground of the embedded AWS: protocols, the clock, faults and errors, settings.
"""
