-- The resolver: orders without a verdict are asked about at the gateway on a schedule, holds that must not stand are
-- given back, decisions that nobody may be left to announce are announced. All of it survives a restart.

alter table cardauth.orders
  add column authorization_expires_at timestamptz;

alter table cardauth.attempts
  -- How often the gateway was asked and had no verdict: the place in the schedule.
  add column inquiries integer not null default 0,
  -- When the resolver looks at the order next; null: nothing to do for it.
  add column resolve_due_at timestamptz,
  -- Until when a worker's resolver has taken it; only keeps two of them from doing the same work.
  add column resolver_until timestamptz,
  add column void_reference text,
  add column void_state text,
  add column void_tries integer not null default 0,

  add constraint attempts_inquiries_not_negative check (inquiries >= 0),
  add constraint attempts_void_tries_not_negative check (void_tries >= 0),
  add constraint attempts_void_state_known check (void_state in ('due', 'confirmed', 'refused')),
  add constraint attempts_void_has_reference check ((void_state is null) = (void_reference is null)),
  -- What an order ships on is never given back by itself.
  add constraint attempts_approval_is_not_voided check (state <> 'approved' or void_state is null),
  add constraint attempts_due_void_is_looked_after check (
    void_state is distinct from 'due' or resolve_due_at is not null
  );

create index attempts_resolve_due on cardauth.attempts (resolve_due_at)
  where resolve_due_at is not null;

create trigger attempts_void_is_not_forgotten before update on cardauth.attempts
  for each row when (
    old.void_reference is not null
    and (new.void_reference is distinct from old.void_reference
      or (old.void_state = 'confirmed' and new.void_state <> 'confirmed'))
  )
  execute function cardauth.refuse('a hold that was to be voided is never forgotten');
