"""The write path: a draft meets what is there, and what is there is changed, settled and grows old."""
