-- `is_own`: whether Playhead's SDK recorded the run's first spans; other instrumentations report a span when it ends, so
-- that silence says less.  `lost_ns`: when the last record of a run arrived that is taken for lost; null for all others.

alter table run add column is_own boolean not null default false;
alter table run add column lost_ns bigint;
