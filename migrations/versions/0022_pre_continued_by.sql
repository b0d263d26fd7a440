-- Ids of the runs that begin from a run's last checkpoint, oldest first.  Null in runs that were projected before this
-- column: their events are read.

alter table run add column continued_by text[];
