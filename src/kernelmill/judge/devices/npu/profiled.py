"""The program that msprof watches: some calls of a candidate. Runs inside sandboxes only."""

import os
import sys
from pathlib import Path

import msgspec

from kernelmill.judge.devices.npu.loading import load_model, start_npu, synchronise
from kernelmill.judge.devices.npu.protocol import ProfileRequest
from kernelmill.judge.model_loading import set_state
from kernelmill.judge.protocol import CandidateRequest, TrialRequest
from kernelmill.sandbox.confine import OWN_FOLDER
from kernelmill.tensors.torch_side import TensorView, restore_value


def main(folder: Path) -> None:
    request = msgspec.json.decode((folder / "request.json").read_bytes(), type=ProfileRequest)
    candidate = msgspec.convert(request.candidate, CandidateRequest)
    trial = msgspec.convert(request.trial, TrialRequest)
    count = len(candidate.artefacts) + 2
    *files, tensors = [os.open(folder / str(number), os.O_RDONLY) for number in range(count + 1)]
    device = start_npu({}, 1)
    writing = (OWN_FOLDER, str(folder), "/dev")
    model = load_model(candidate, files, folder / "candidate", device, writing)
    given = [one.to(device) for one in TensorView(tensors, trial.layout, writable=()).tensors]
    set_state(model, {name: given[index] for name, index in trial.state.items()})
    inputs = restore_value(trial.inputs, given)
    for _ in range(request.calls):
        model(*inputs)
    synchronise()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
