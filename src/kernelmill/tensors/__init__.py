"""Exchange of tensors between processes: a sealed memory file and its layout."""
