"""
The parts of ``sagemaker-llm load-test``.
"""
