-- Which content explains this? A cache: what is lost can be made again.

create table explanation (
    project_id  int not null,
    subject     bytea not null,     -- digest of what the model was shown
    model       text not null,
    content     bytea not null,     -- ref of what it said
    primary key (project_id, subject, model)
);
