"""
Bringing one revision of a model from the Hugging Face Hub into S3, once.

What belongs here is shipped to AWS and runs there alone: it needs boto3 and
huggingface_hub, and nothing else of this library.
"""
