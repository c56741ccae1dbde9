"""
The ground that every service stands on: requests, protocols, the clock, faults.
"""
