-- The order book: the system of record of every order and of its authorization attempts.
--
-- What is promised to people is guaranteed here as well as in the code (payments design, section 2): one key per
-- generation, one approval per order, no way back from a decision, a history that only grows. Every rule has a name,
-- and an error names the rule that it broke. No column holds a card number or a CVV.

-- Refuses whatever fired it; the trigger's name is reported as the constraint, its argument as the message.
create function cardauth.refuse() returns trigger
  language plpgsql
as $$
begin
  raise exception using
    errcode = 'check_violation',
    message = tg_argv[0],
    schema = tg_table_schema,
    table = tg_table_name,
    constraint = tg_name;
end
$$;

-- Numbers of worker sessions. A worker holds the advisory lock of its number for as long as it lives; a number is
-- never used twice, so that a claim of a dead session stays recognizable for ever.
create sequence cardauth.worker_numbers as integer minvalue 1 no cycle;

-- --- orders --------------------------------------------------------------------------------------------------------

create table cardauth.orders (
  order_id text collate "C" not null,
  customer_id text not null,
  status text not null,
  status_reason text,
  amount_minor bigint not null,
  currency text not null,
  gateway_reference text,
  generation integer not null default 1,
  attempts integer not null default 0,
  notified_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  fingerprint text not null,
  card_brand text,
  card_last4 text,
  decided_at timestamptz,
  version integer not null,

  constraint orders_pkey primary key (order_id),
  constraint orders_order_id_length check (char_length(order_id) between 1 and 128),
  constraint orders_status_known check (
    status in ('received', 'authorizing', 'ready-to-ship', 'denied', 'authorization-unknown', 'review')
  ),
  constraint orders_amount_not_negative check (amount_minor >= 0),
  constraint orders_currency_form check (currency ~ '^[A-Z]{3}$'),
  constraint orders_card_last4_form check (card_last4 ~ '^[0-9]{4}$'),
  constraint orders_generation_positive check (generation >= 1),
  constraint orders_attempts_not_negative check (attempts >= 0),
  constraint orders_version_positive check (version >= 1),
  constraint orders_decision_has_time check (
    status not in ('ready-to-ship', 'denied') or decided_at is not null
  ),
  constraint orders_approval_has_reference check (
    status <> 'ready-to-ship' or (gateway_reference is not null and attempts >= 1)
  ),
  constraint orders_only_decisions_are_notified check (
    notified_at is null or status in ('ready-to-ship', 'denied')
  )
) with (fillfactor = 80);

create unique index orders_gateway_reference_key on cardauth.orders (gateway_reference)
  where gateway_reference is not null;

create trigger orders_version_rises_by_one before update on cardauth.orders
  for each row when (new.version <> old.version + 1)
  execute function cardauth.refuse('every write raises the version of an order by one');

create trigger orders_generation_never_falls before update on cardauth.orders
  for each row when (new.generation < old.generation)
  execute function cardauth.refuse('the generation of an order never falls');

create trigger orders_approval_is_final before update on cardauth.orders
  for each row when (
    old.status = 'ready-to-ship'
    and (new.status <> old.status
      or new.generation <> old.generation
      or new.gateway_reference is distinct from old.gateway_reference
      or new.decided_at is distinct from old.decided_at)
  )
  execute function cardauth.refuse('an approved order stays approved, under the same reference');

create trigger orders_denial_is_final before update on cardauth.orders
  for each row when (
    old.status = 'denied'
    and new.generation = old.generation
    and (new.status <> old.status
      or new.status_reason is distinct from old.status_reason
      or new.decided_at is distinct from old.decided_at)
  )
  execute function cardauth.refuse('a denied order is reopened only with a new generation');

create trigger orders_notified_once before update on cardauth.orders
  for each row when (
    old.notified_at is not null
    and new.notified_at is distinct from old.notified_at
    and new.generation = old.generation
  )
  execute function cardauth.refuse('the notification of a decision is marked once');

create trigger orders_terms_never_change before update on cardauth.orders
  for each row when (
    (new.order_id, new.customer_id, new.amount_minor, new.currency, new.fingerprint)
    is distinct from (old.order_id, old.customer_id, old.amount_minor, old.currency, old.fingerprint)
  )
  execute function cardauth.refuse('what an order is about never changes');

-- --- attempts ------------------------------------------------------------------------------------------------------

-- The one authorization attempt of an order's generation; claims take turns on it, all with the same key.
create table cardauth.attempts (
  order_id text collate "C" not null,
  generation integer not null,
  idempotency_key text not null,
  gateway_reference text,
  claim integer not null,
  owner integer not null,
  lease_until timestamptz,
  key_used_since timestamptz,
  maybe_sent boolean not null,
  state text not null,
  decline_class text,
  last_outcome text,
  detail text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),

  constraint attempts_pkey primary key (order_id, generation),
  constraint attempts_order_id_fkey foreign key (order_id) references cardauth.orders (order_id),
  constraint attempts_idempotency_key_key unique (idempotency_key),
  constraint attempts_idempotency_key_form check (idempotency_key = 'order-' || order_id || '-' || generation),
  constraint attempts_generation_positive check (generation >= 1),
  constraint attempts_claim_positive check (claim >= 1),
  constraint attempts_owner_positive check (owner >= 1),
  constraint attempts_state_known check (state in ('open', 'approved', 'declined', 'review')),
  constraint attempts_only_open_ones_are_leased check (lease_until is null or state = 'open'),
  constraint attempts_approval_has_reference check (state <> 'approved' or gateway_reference is not null),
  constraint attempts_decline_class_known check (decline_class in ('hard', 'soft', 'unknown'))
) with (fillfactor = 80);

create unique index attempts_gateway_reference_key on cardauth.attempts (gateway_reference)
  where gateway_reference is not null;

create unique index attempts_one_open_or_approved on cardauth.attempts (order_id)
  where state in ('open', 'approved');

create trigger attempts_key_never_changes before update on cardauth.attempts
  for each row when (
    (new.order_id, new.generation, new.idempotency_key)
    is distinct from (old.order_id, old.generation, old.idempotency_key)
  )
  execute function cardauth.refuse('the idempotency key of an attempt never changes');

create trigger attempts_claim_never_falls before update on cardauth.attempts
  for each row when (new.claim < old.claim)
  execute function cardauth.refuse('the claim number of an attempt never falls');

create trigger attempts_sent_is_not_forgotten before update on cardauth.attempts
  for each row when (old.maybe_sent and not new.maybe_sent)
  execute function cardauth.refuse('that a request may have reached the gateway is never forgotten');

create trigger attempts_verdict_is_final before update on cardauth.attempts
  for each row when (old.state in ('approved', 'declined') and new.state <> old.state)
  execute function cardauth.refuse('the verdict of an attempt never changes');

-- An order is ready to ship by exactly one approval, its own: the partial index above allows no second one. Fires at
-- the end of the statement, when the attempt written beside the order is visible.
create function cardauth.require_approved_attempt() returns trigger
  language plpgsql
as $$
begin
  if not exists (
    select from cardauth.attempts a
    where a.order_id = new.order_id
      and a.generation = new.generation
      and a.state = 'approved'
      and a.gateway_reference = new.gateway_reference
  ) then
    raise exception using
      errcode = 'check_violation',
      message = 'an order is ready to ship only with its approved attempt',
      schema = tg_table_schema,
      table = tg_table_name,
      constraint = 'orders_ready_by_an_approved_attempt';
  end if;
  return null;
end
$$;

create trigger orders_ready_by_an_approved_attempt_inserted after insert on cardauth.orders
  for each row when (new.status = 'ready-to-ship')
  execute function cardauth.require_approved_attempt();

create trigger orders_ready_by_an_approved_attempt_updated after update on cardauth.orders
  for each row when (new.status = 'ready-to-ship' and old.status <> new.status)
  execute function cardauth.require_approved_attempt();

-- --- history -------------------------------------------------------------------------------------------------------

-- Every fact that changed an order or raised an alarm. No foreign key: an alarm may be about an order that is not
-- stored, and that is exactly when it is needed.
create table cardauth.order_events (
  event_id bigint generated always as identity,
  order_id text collate "C" not null,
  happened_at timestamptz not null default now(),
  fact text not null,
  generation integer,
  version integer,
  claim integer,
  worker integer,
  status_before text,
  status_after text,
  outcome text,
  detail text,
  alarm text,

  constraint order_events_pkey primary key (order_id, event_id)
);

create trigger order_events_append_only before update or delete or truncate on cardauth.order_events
  for each statement execute function cardauth.refuse('the history of orders is append-only');

-- Orders that wait for a person; the message itself, with its card, stays on the broker.
create table cardauth.parked_orders (
  parked_id bigint generated always as identity,
  order_id text collate "C",
  reason text not null,
  class text not null,
  attempts integer not null,
  error text not null,
  message_id text,
  origin_queue text not null,
  first_seen_at timestamptz not null,
  parked_at timestamptz not null default now(),
  state text not null default 'parked',
  closed_at timestamptz,

  constraint parked_orders_pkey primary key (parked_id),
  constraint parked_orders_class_known check (class in ('input', 'review', 'exhausted')),
  constraint parked_orders_attempts_not_negative check (attempts >= 0),
  constraint parked_orders_state_known check (state in ('parked', 'replayed', 'discarded')),
  constraint parked_orders_closed_has_time check ((state = 'parked') = (closed_at is null))
);

create index parked_orders_order_id on cardauth.parked_orders (order_id);

-- What operators did: who, when, why, to what, before and after. A command id makes a repeated command a no-op.
create table cardauth.audit_log (
  audit_id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  command_id text not null,
  actor text not null,
  action text not null,
  reason text not null,
  subject text not null,
  before jsonb,
  after jsonb,

  constraint audit_log_pkey primary key (audit_id),
  constraint audit_log_command_once unique (command_id, subject),
  constraint audit_log_actor_given check (actor <> ''),
  constraint audit_log_reason_given check (reason <> '')
);

create trigger audit_log_append_only before update or delete or truncate on cardauth.audit_log
  for each statement execute function cardauth.refuse('the audit log is append-only');
