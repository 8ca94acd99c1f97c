"""Huawei Ascend through Triton: compiled to HIVM, executed and timed by a model of its pipes."""
