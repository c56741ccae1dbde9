"""
A picture of the example's dashboard, as a simulated day fills it.

What belongs here reads the dashboard's body out of the template, and computes nothing
of time: what happens in the day is the simulation's.
"""
