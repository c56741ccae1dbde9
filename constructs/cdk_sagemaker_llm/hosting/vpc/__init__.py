"""
Private access: what hosting in a VPC without a way to the internet needs of AWS there.
"""
