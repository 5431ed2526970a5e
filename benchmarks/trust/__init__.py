"""Choice of components and cardinalities, inference and missing values, measured on planted models."""
