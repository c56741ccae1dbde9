"""
Hosting in a VPC without a way to the internet: what it needs of AWS there, and how
many addresses.
"""
