"""The backend `pallas`: Google TPUs, kernels in Pallas, compiled by libtpu without a TPU."""
