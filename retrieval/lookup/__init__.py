"""What is asked of the database: both legs, other spellings, neighbours, other spaces."""
