"""The `/v1` interface: JSON in, JSON out, problem details for everything that goes wrong."""
