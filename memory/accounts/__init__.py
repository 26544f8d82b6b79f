"""Who there is, and who may what."""
