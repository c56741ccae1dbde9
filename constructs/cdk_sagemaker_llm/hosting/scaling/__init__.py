"""
Application Auto Scaling: instances of a variant, copies of a model.
"""
