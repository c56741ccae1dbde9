"""
SageMaker hosting: its state and its rules, without HTTP.
"""
