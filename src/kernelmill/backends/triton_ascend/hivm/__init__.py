"""Reading, execution and timing of HIVM, the last form of a kernel that the open tool chain emits.

HIVM has an address for every buffer, double buffers where the compiler chose them, and the flags by
which pipes wait for each other. Nothing here needs the tool chain or torch.
"""
