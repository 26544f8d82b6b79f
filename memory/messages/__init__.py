"""What was said, appended once and in one order, also from histories of others."""
