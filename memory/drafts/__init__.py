"""What somebody wants remembered, checked and made ready, and not stored yet."""
