"""
What an AWS account holds, read with the credentials of whoever asks.

What belongs here calls nothing that changes anything: it declares its calls, asks, and
says what the answers come to.
"""
