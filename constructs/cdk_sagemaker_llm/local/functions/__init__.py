"""
Lambda functions, run as processes of this machine for custom resources.
"""
