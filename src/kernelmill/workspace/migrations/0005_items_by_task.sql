-- What passed for a task before is looked up by its name.
CREATE INDEX items_by_task ON items (task, outcome) WHERE kind = 'trace';
