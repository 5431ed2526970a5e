"""Time and memory of fits, compared with the unavoidable work.

Every measurement is made in a new process, where what we compare with runs in turns with the fit.
"""
