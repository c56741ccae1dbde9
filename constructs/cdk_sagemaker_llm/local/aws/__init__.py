"""
What all rooms of the embedded AWS share: protocols, the clock, faults, errors and
settings.
"""
