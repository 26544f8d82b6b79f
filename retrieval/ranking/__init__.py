"""The arithmetic that makes an order of candidates, and tells when there is nothing to show."""
