"""
What every room of hosting shares: the service's limits, names, the stack around a
construct, and how findings are reported.
"""
