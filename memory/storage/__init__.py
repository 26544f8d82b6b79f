"""The database: connections, the schema and where it stands, the tables of each kind of item."""
