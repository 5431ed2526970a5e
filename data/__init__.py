"""The data sets that come with the package, read by `spcastat.datasets`; see README.md for their source."""
