"""Functions that host code of composed candidates calls."""


def tile(shape, most):
    """Sizes of a tile of at most `most` elements: as much as fits of the last axes."""
    sizes = []
    room = most
    for axis, size in enumerate(reversed(shape)):
        wanted = -(-size // 32) * 32 if axis == 0 else min(size, 255)
        sizes.append(max(1, min(wanted, room)))
        room = room // sizes[axis]
    return sizes[::-1]
