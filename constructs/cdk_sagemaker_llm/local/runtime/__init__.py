"""
SageMaker's runtime: requests on their way to a model server, and answers back.
"""
