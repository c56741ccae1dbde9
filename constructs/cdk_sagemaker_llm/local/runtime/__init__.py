"""
SageMaker's runtime and the stand-in model server behind it.
"""
