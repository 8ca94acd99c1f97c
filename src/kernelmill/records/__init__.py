"""Data types that every folder passes around. Imports nothing else of Kernelmill."""
