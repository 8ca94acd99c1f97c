"""Huawei Ascend through PyPTO: tiles of tensors, compiled and simulated by the vendor's library."""
