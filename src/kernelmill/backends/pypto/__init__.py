"""The backend `pypto`: Huawei Ascend NPUs, kernels in PyPTO, simulated by the vendor's library."""
