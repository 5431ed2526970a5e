"""Reading the user's data: tables, formulas, text files, covariance matrices, missing values."""
