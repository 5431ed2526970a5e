"""Whether the tests would notice: random lines are broken one at a time, and their tests run."""
