"""Build of the vendor's interpreter of tile graphs, which ships as source.

Runs inside sandboxes only.
"""

import os
from pathlib import Path
from typing import Any

from pypto._utils import BuildOnlineManager

from kernelmill.sandbox.channel import Channel

_LIBRARY = "libtile_fwk_calculator.so"


def build_calculator(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: sends the library, or the error that prevented it."""
    channel.receive()
    manager = BuildOnlineManager()
    framework, tools = manager._TorchContext(), manager._CMakeContext()
    build = tools.CompileContext(
        src_dir=Path(manager.pkg_lib_dir, "calculator"), tmp_dir=Path(scratch)
    )
    build.cfg_cmd_ext = (
        f"-DPY3_MOD_TORCH_VERSION={framework.torch_version} "
        f"-DPY3_MOD_TORCH_ROOT_PATH={framework.torch_root_dir} "
        f"-DPY3_MOD_TORCH_C_GLIBCXX_USE_CXX11_ABI={framework.torch_c_use_cxx11_abi}"
    )
    try:
        built = Path(tools.compile(ctx=build), "lib", _LIBRARY)
    except (RuntimeError, OSError) as error:
        channel.send({"error": str(error)[:2000]})
        return
    channel.send({"error": ""}, (os.open(built, os.O_RDONLY),))
