"""
What happens by itself while time runs: metrics, alarms and scaling.
"""
