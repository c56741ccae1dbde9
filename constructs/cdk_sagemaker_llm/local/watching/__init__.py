"""
What happens by itself while time runs: metrics, alarms and scaling.

What belongs here connects hosting and moto to the one engine of time
(``cdk_sagemaker_llm.simulation``), which decides what happens and when.
"""
