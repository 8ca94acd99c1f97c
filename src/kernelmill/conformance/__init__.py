"""Conformance suites: what every backend, device, generator and strategy must do, as tests."""
