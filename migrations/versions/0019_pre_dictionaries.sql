-- Trained dictionaries are text for the most part: Postgres halves them. They are read once in a process.
alter table dictionary alter column body set storage extended;
