"""Target names: a backend, with the chip where it has several, such as `pallas:v5e`."""


def backend_name(target: str) -> str:
    """The backend of a target, without its chip."""
    return target.partition(":")[0]
