-- Orders that were declined softly and are to be tried again: when, and until when at the latest. The waits are kept
-- here, not only in the message that waits on the broker: another copy of the order, or one that an operator puts
-- back, must not be tried earlier.

alter table cardauth.orders
  add column retry_at timestamptz,
  add column retry_until timestamptz,
  add constraint orders_retry_waits_as_received check (retry_at is null or status = 'received'),
  add constraint orders_retry_has_end check (
    retry_at is null or (retry_until is not null and retry_at <= retry_until)
  );
