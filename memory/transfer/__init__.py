"""Out and in: a whole account, or notes from elsewhere."""
