"""The buffers of a traced call: kernels may spoil them, and everybody sees what they did."""

import os

import numpy as np
import pytest

from kernelmill.backends.support.buffers import Buffers
from kernelmill.backends.support.launch_log import Buffer, Output
from kernelmill.records.tensors import lay_out


@pytest.fixture
def buffers() -> Buffers:
    layout = lay_out([("float32", (2, 3))])
    file = os.memfd_create("given")
    os.ftruncate(file, layout.bytes)
    os.pwrite(file, np.arange(6, dtype=np.float32).tobytes(), 0)
    made = [Buffer("float32", 6), Buffer("float32", 4), Buffer("float32", 4, zeroed=True)]
    found = Buffers(file, layout, made)
    os.close(file)
    return found


def floats(buffers: Buffers, index: int) -> np.ndarray:
    return buffers.bytes[index].view(np.float32)


def test_what_nobody_wrote_is_not_a_number(buffers: Buffers) -> None:
    assert floats(buffers, 0).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(floats(buffers, 1)).all()
    assert not floats(buffers, 2).any()


def test_a_changed_input_is_noticed(buffers: Buffers) -> None:
    assert buffers.mutated() is None
    floats(buffers, 0)[3] = 9
    assert buffers.mutated() == 0


def test_a_forked_process_writes_for_all(buffers: Buffers) -> None:
    child = os.fork()
    if child == 0:
        floats(buffers, 1)[:] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert floats(buffers, 1).tolist() == [7] * 4


def test_outputs_are_read_through_their_strides(buffers: Buffers) -> None:
    turned = Output(0, 0, "float32", (3, 2), (1, 3))
    file = os.memfd_create("outputs")
    buffers.write([turned], file)
    read = np.frombuffer(os.pread(file, 24, 0), np.float32)
    assert read.tolist() == [0, 3, 1, 4, 2, 5]
    os.close(file)


def test_a_tensor_beyond_its_buffer_is_refused(buffers: Buffers) -> None:
    with pytest.raises(ValueError, match="beyond"):
        buffers.array(Output(1, 2, "float32", (3,), (1,)))
    with pytest.raises(ValueError, match="beyond"):
        buffers.array(Output(1, 0, "float32", (2, 2), (4, -1)))
