"""The result classes, whose methods call functions of the packages above."""
