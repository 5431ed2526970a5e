"""The result classes, whose methods call functions of the other packages."""
