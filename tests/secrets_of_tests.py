"""What opens the doors of the tests, in a module of its own: every folder has a `conftest`."""

SECRET = "only-for-tests-" + "0123456789abcdef" * 2
PASSWORD = "correct horse battery"
