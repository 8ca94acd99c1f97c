"""TPUs through Pallas: libtpu compiles and models, the TPU interpreter executes."""
