"""`python -m webapp.cli`, for children of `commonplace up`."""

from webapp.cli import main

main()
