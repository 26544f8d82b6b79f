"""The queue and its thin task envelopes, and what a process needs to work; `tasks.registry` brings all tasks in."""
