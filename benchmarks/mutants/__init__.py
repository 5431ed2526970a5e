"""Mutation testing: random lines are broken one at a time, and their tests are run."""
