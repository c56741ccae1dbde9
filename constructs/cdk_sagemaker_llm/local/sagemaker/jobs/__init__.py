"""
Processing and training jobs: what SageMaker does around a container that works once.
"""
