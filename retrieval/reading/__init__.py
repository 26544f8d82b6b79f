"""Reading notes together with the question, to tell whether any of them answers."""
