"""Resampling: draws with seeds of their own, shared among processes; components matched with a fit's."""

from spcastat.resample.align import Aligned, align
from spcastat.resample.jobs import Finished, draw_generator, run_jobs, seed_of, workers

__all__ = ["Aligned", "Finished", "align", "draw_generator", "run_jobs", "seed_of", "workers"]
