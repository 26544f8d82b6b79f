"""What holds of somebody or something and since when, and the names that texts give them."""
