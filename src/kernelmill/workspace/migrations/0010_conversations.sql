-- Prompts and answers of models, by content: a text that many calls share is stored once.
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    characters INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- The messages of a call in order; the speaker of what the model answered is `answer`.
CREATE TABLE call_messages (
    attempt INTEGER NOT NULL,
    call INTEGER NOT NULL,
    position INTEGER NOT NULL,
    speaker TEXT NOT NULL CHECK (speaker IN ('system', 'user', 'assistant', 'answer')),
    text INTEGER NOT NULL REFERENCES texts,
    PRIMARY KEY (attempt, call, position),
    FOREIGN KEY (attempt, call) REFERENCES calls (attempt, number)
) STRICT, WITHOUT ROWID;

-- Which attempts an item of the memory was shown to; the attempt's context has the details.
CREATE TABLE shown_items (
    item INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (item, attempt)
) STRICT, WITHOUT ROWID;
INSERT INTO shown_items
SELECT DISTINCT shown.value, a.id FROM attempts a, json_each(items_in(a.context)) shown
WHERE a.context IS NOT NULL;

CREATE INDEX call_messages_by_text ON call_messages (text);
