"""
Scripts and notebooks as what they deploy, read without running them.

What belongs here reads Python as text: it follows constants, calls nothing, and tells
line by line what it could not follow.
"""

from cdk_sagemaker_llm.adoption.scripts.requests import read_script

__all__ = ["read_script"]
