"""
CodeBuild: projects, and builds that are run as processes of this machine.
"""
