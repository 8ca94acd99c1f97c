"""Huawei Ascend NPUs under torch_npu as a device that candidates are judged on.

Never run on silicon: its tests use a simulated accelerator under PyTorch's open-registration key.
"""
