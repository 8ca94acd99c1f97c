"""Huawei Ascend through Ascend C: operators of six sections, built with CANN."""
