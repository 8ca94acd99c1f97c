"""From values to C++."""
