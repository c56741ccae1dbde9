"""
How the constructs tell the command what a given role must have.
"""

METADATA = "cdk-sagemaker-llm:given-role"
"""The key of an entry in the assembly's metadata: role, policy and trust."""
