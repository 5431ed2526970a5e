"""Time and memory of fits, compared with the unavoidable work.

Every measurement is made in a new process, in which the fit alternates with the reference.
"""
