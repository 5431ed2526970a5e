"""Resampling: independent draws, run in several processes, and matching of their components with a fit."""

from spcastat.resample.align import Aligned, align
from spcastat.resample.jobs import Finished, draw_generator, run_jobs, seed_of, workers

__all__ = ["Aligned", "Finished", "align", "draw_generator", "run_jobs", "seed_of", "workers"]
