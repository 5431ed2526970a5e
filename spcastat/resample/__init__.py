"""Resampling: independent draws, run in several processes, and matching of their components with a fit."""

from spcastat.resample.jobs import Finished, draw_generator, run_jobs, seed_of, workers
from spcastat.resample.refit import Aligned, align

__all__ = ["Aligned", "Finished", "align", "draw_generator", "run_jobs", "seed_of", "workers"]
