"""The backend `ascendc`: Huawei Ascend NPUs, operators in Ascend C, built with CANN."""
