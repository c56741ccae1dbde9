"""
Metrics and alarms of what is hosted, and the charts and widgets of a dashboard.

What belongs here reads what the service publishes; it changes nothing that runs.
"""
