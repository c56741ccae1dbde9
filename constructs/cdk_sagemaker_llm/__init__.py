"""
CDK constructs that put large language models behind SageMaker endpoints.
"""
