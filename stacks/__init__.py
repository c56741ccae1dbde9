"""
The reference deployments, one stack each: wiring only.
"""
