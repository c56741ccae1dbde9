"""
Metrics, alarms and dashboards of what is hosted.

What belongs here reads what the service publishes; it changes nothing that runs.
"""
