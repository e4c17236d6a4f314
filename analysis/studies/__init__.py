"""One folder a table, figure or study: question, grid, scores, page, and the code of it."""
