"""Device files of NVIDIA GPUs."""

from glob import glob


def nvidia_device_files() -> tuple[str, ...]:
    """Files that a sandbox must open to compute on a GPU."""
    return tuple(sorted(glob("/dev/nvidia*")))
