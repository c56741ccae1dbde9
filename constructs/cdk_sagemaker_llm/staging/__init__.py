"""
The workers that run on AWS: they bring a model from the Hugging Face Hub into S3,
mirror an image, or compile an engine.

What belongs here is shipped to AWS and runs there alone: it needs boto3 and
huggingface_hub, and nothing else of this library.
"""
