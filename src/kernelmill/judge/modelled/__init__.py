"""Judging for chips that are not in this machine."""
