"""
CloudFormation's way of creating, updating, rolling back and deleting a stack.

moto answers the API; what happens to the resources of a stack is decided here.
"""
