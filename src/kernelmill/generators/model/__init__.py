"""The generator that asks language models, and everything between it and an endpoint."""
