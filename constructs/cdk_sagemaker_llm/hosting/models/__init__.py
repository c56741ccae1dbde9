"""
The SageMaker Model, and what it is made of: image, artifact, weights, environment.
"""
