"""The backend `triton_ascend`: Huawei Ascend NPUs, kernels in Triton, compiled to HIVM."""
