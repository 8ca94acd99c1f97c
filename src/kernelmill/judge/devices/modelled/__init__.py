"""Modelled chips as a device that candidates are judged on."""
