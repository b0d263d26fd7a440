-- A projection goes on from what it keeps in memory, if nobody else has projected the run since.

create sequence run_projection;

alter table run
    -- Of the projection that is stored, from the sequence above: another one for each; 0: there is none yet.
    add column projection bigint not null default 0,
    -- There is nothing left to do but to say that the run is sealed, once it has been quiet for long enough: it has
    -- ended, all that its events rest on is here, and it is stored as small as it can be.
    add column settled boolean not null default false;

update run set projection = nextval('run_projection') where events > 0;
