"""What forgetting leaves: how it is known again, and blank wherever it was told."""
