"""The web process: the `/v1` interface, the pages, and the command line. Views parse, call and render."""
