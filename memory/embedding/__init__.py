"""Text to vectors, by a local model or an HTTP provider behind one protocol."""
