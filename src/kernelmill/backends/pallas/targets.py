"""JAX and libtpu set up for a chip that this machine lacks. Used inside sandboxes only."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

from kernelmill.backends.pallas.chips import Chip

_ENVIRONMENT = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
}
_PROFILE = "--xla_jf_dump_static_llo_profile_to={folder}"
_UNITS = """--xla_jf_dump_to={folder}/units --xla_jf_dump_llo_text=true
--xla_jf_dump_llo_pass_label_regex=final_hlo-static.*"""


def tracing_for(chip: Chip) -> AbstractContextManager[Any]:
    """A context in which JAX reports this chip to code that asks for its device."""
    device = AbstractDevice(chip.device_kind, chip.cores, "tpu")
    mesh = AbstractMesh((), (), abstract_device=device)
    within: AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(mesh)
    return within


def compiler_for(chip: Chip, dumps: Path, profiled: bool) -> SingleDeviceSharding:
    """Start libtpu, once per process. It dumps reports on compiled programs into `dumps`.

    Its profiler aborts the process at an instruction that it has no model of.
    """
    flags = " ".join((_PROFILE, *_UNITS.split()) if profiled else _UNITS.split())
    flags = flags.format(folder=dumps)
    accelerator = {"TPU_ACCELERATOR_TYPE": chip.accelerator, "LIBTPU_INIT_ARGS": flags}
    os.environ.update(_ENVIRONMENT, **accelerator)
    topology = topologies.get_topology_desc(
        chip.topology, platform="tpu", chips_per_host_bounds=(1, 1, 1)
    )
    return SingleDeviceSharding(topology.devices[0])
