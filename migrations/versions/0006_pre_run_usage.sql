-- Tokens by model, [{"model", "asked", "input_tokens", "output_tokens", ...}], of calls that reported them. Prices are not
-- kept: they change, and a list is priced when it is asked for. Null in runs that were projected before this column.

alter table run add column usage jsonb;
