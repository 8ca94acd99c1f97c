"""HIVM, the last form of a kernel that the open tool chain shows: read, executed, timed.

It knows addresses in every memory, two buffers where the compiler chose so, and the flags by which
pipes wait for each other. Nothing here needs the tool chain, or a framework.
"""
