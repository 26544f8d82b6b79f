"""What operators see and do: users without content, and vectors that do not get made."""
