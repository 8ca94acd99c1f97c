"""What can be counted without running anything: operators of a task, constructs of a source."""
