"""What takes too much room, in few words: the older part of a conversation, and what has grown old."""
