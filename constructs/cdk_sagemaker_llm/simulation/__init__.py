"""
Time: what scaling, start-up, load and failure do to a fleet, minute by minute.

What belongs here computes in simulated time alone: no clock of the machine, no AWS,
no CDK. The command predicts with it, and the embedded AWS plays it out.
"""
