"""
What every service of the embedded AWS stands on: protocols, the clock, faults, settings.
"""
