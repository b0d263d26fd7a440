-- Projects as tenants: their limits, and what they sent by day.

alter table project
    -- Spans and log events; null: no limit.
    add column spans_per_second int,
    -- Of request bodies, not compressed; null: no limit.
    add column bytes_per_day bigint,
    -- Of the rows and indexes that a project has in this database; null: no limit.
    add column stored_bytes bigint,
    -- From then on its keys are gone, and its rows are removed in portions; null: it is in use.
    add column deleted_at timestamptz;
create unique index project_name on project (name);

-- Runs with news are looked for by project, so that projects take turns.
drop index run_news_dirty;
create index run_news_dirty on run_news (project_id, dirty_since_ns) where dirty_since_ns is not null;

-- What arrived of a project on a day (UTC), written by each collector about once a second.
create table project_day (
    project_id  int not null,
    day         date not null,
    spans       bigint not null default 0,
    bytes       bigint not null default 0,
    primary key (project_id, day)
);

-- Removes rows of a deleted project, at most so many, from the first table that has any; returns how many. The row of
-- the project itself goes last. Tables are found by their column, so that none can be forgotten.
create function playhead_remove_project(project int, most int) returns bigint language plpgsql as $$
declare
    name text;
    removed bigint;
begin
    for name in
        select c.relname
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'project_id' and not a.attisdropped
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
        order by c.relname = 'project', c.relname
    loop
        execute format('delete from %I where ctid = any(array(select ctid from %I where project_id = $1 limit $2))', name, name)
            using project, most;
        get diagnostics removed = row_count;
        if removed > 0 then
            return removed;
        end if;
    end loop;
    return 0;
end
$$;
