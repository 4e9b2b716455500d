"""The package that grades: an answer's text in, a verdict out."""
