"""Static features of tasks and candidates: operators of a task, constructs of a source."""
