"""Where the log, the views, the contents of cases and the tokens are kept: SQLite or PostgreSQL through SQLAlchemy."""
