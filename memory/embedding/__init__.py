"""Text to vectors, by a local model or an HTTP provider behind one protocol."""

import os

# Since 1.29 onnxruntime tells its makers of every process that imports it, and keeps a number of the device in the home
# folder. It looks here once, while it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
