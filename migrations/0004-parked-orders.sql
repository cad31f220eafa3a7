-- Parked orders, one row a parked message, for operators: listed, grouped, shown, replayed, discarded and exported
-- without touching a queue, since every look at a quorum queue costs its messages a delivery.
--
-- No card in clear: the body is sealed as a whole with the card key where there is one. Without a key the row has it
-- redacted, and a message that can be replayed waits, as it came, on the queue <prefix>.parked.unsealed.

alter table cardauth.parked_orders
  -- Names the message: recording it again, after a crash, changes nothing.
  add column park_id uuid not null default gen_random_uuid(),
  add column customer_id text,
  add column card_last4 text,
  -- Reason and error without ids and numbers: what belongs together is equal.
  add column cause text not null default '',
  add column recorded_at timestamptz not null default now(),
  add column origin_exchange text not null default '',
  add column origin_routing_key text not null default '',
  add column worker_version text,
  add column content_type text,
  -- Of the message, as far as a replay needs them: {"headers": {...}, "correlationId": ..., "type": ...}. Scrubbed,
  -- and without what the broker and the worker put there themselves.
  add column properties jsonb not null default '{}',
  -- sealed: a compact JWE of the body, in ASCII; redacted: the first 64 KiB, card data masked.
  add column body bytea not null default '',
  add column body_form text not null default 'redacted',
  -- Of the body as it was parked.
  add column body_bytes integer not null default 0,
  -- Where a replay finds the message: in this row, on the queue of unsealed ones (under its park id), or nowhere.
  add column replay_from text,
  add column not_replayable_because text,
  -- The batch of the operator's command that has it, or had it last.
  add column batch_id uuid,

  drop constraint parked_orders_class_known,
  drop constraint parked_orders_state_known,
  drop constraint parked_orders_closed_has_time;

update cardauth.parked_orders set not_replayable_because = 'its message was never recorded';

alter table cardauth.parked_orders
  add constraint parked_orders_park_id_key unique (park_id),
  -- broker: it dead-lettered the message by itself; foreign: somebody else put it there.
  add constraint parked_orders_class_known check (class in ('input', 'review', 'exhausted', 'broker', 'foreign')),
  add constraint parked_orders_state_known check (state in ('parked', 'replaying', 'replayed', 'discarded')),
  add constraint parked_orders_closed_has_time check ((state in ('parked', 'replaying')) = (closed_at is null)),
  add constraint parked_orders_replaying_in_a_batch check (state <> 'replaying' or batch_id is not null),
  add constraint parked_orders_body_form_known check (body_form in ('sealed', 'redacted')),
  add constraint parked_orders_replay_from_known check (replay_from in ('row', 'unsealed-queue')),
  add constraint parked_orders_replayable_or_why_not check (
    (replay_from is null) = (not_replayable_because is not null)
  ),
  add constraint parked_orders_redacted_is_not_replayed check (body_form <> 'redacted' or replay_from is distinct from 'row'),
  add constraint parked_orders_card_last4_form check (card_last4 ~ '^[0-9]{4}$'),
  add column replayable boolean not null generated always as (replay_from is not null) stored;

-- Keyset pages: (parked_at, parked_id) > (last seen).
create index parked_orders_pages on cardauth.parked_orders (parked_at, parked_id);
create index parked_orders_causes on cardauth.parked_orders (state, cause, parked_at);

create trigger parked_orders_message_never_changes before update on cardauth.parked_orders
  for each row when (
    (new.park_id, new.order_id, new.reason, new.class, new.parked_at)
    is distinct from (old.park_id, old.order_id, old.reason, old.class, old.parked_at)
  )
  execute function cardauth.refuse('what was parked, and why, never changes');

create trigger parked_orders_closed_stays_closed before update on cardauth.parked_orders
  for each row when (old.closed_at is not null and (new.state, new.closed_at) is distinct from (old.state, old.closed_at))
  execute function cardauth.refuse('a parked order that was replayed or discarded stays so: parked again, it is another row');

create trigger parked_orders_open_ones_stay before delete on cardauth.parked_orders
  for each row when (old.closed_at is null)
  execute function cardauth.refuse('a parked order is replayed or discarded before it may be deleted');
