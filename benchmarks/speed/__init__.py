"""How long fits take and how much memory, beside the work that cannot be avoided.

Every measurement is made in a new process, where what we compare with runs in turns with the fit.
"""
