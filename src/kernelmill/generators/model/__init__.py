"""The generator `model`, which asks language models, and everything between it and an endpoint."""
