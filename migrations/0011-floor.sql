-- A ledger's floor: money moves on the strength of entries below it alone (docs/decisions/0008-verification-in-the-background.md).
-- It is where the follower's cursor stands, so the cursor has to be the follower's own.

set local search_path = tallystick;

-- Nobody has authenticated the cursors that stand here: the follower begins anew, at each ledger's first entry.
delete from audit_cursors;
-- Over the whole row, under the master key: the worker's login can write a row, and make none that is believed.
alter table audit_cursors add column mac bytea not null check (length(mac) = 32);

-- Servers tell no settlement above the floor either. They may not lock a row: the follower locks what it works at.
grant select on audit_cursors to tallystick_api;
-- A cursor that nobody believes is removed.
grant delete on audit_cursors to tallystick_worker;
