-- Operators' actions are looked up by what they were done to.
create index audit_log_subject on cardauth.audit_log (subject, audit_id);

-- Unfinished orders: without a decision, or decided and not announced. Small, however large the table is; counts by
-- status and the oldest order of each are read from it alone.
create index orders_unfinished on cardauth.orders (status, created_at) where notified_at is null;

-- The orders of a day, out of millions: a few kilobytes, since rows arrive in the order of their time.
create index orders_created_at on cardauth.orders using brin (created_at) with (pages_per_range = 32, autosummarize);

-- Whether operators hold the intake of all workers: one row.
create table cardauth.intake_control (
  one boolean not null default true,
  is_paused boolean not null default false,
  changed_at timestamptz,
  actor text,
  reason text,

  constraint intake_control_pkey primary key (one),
  constraint intake_control_one_row check (one),
  constraint intake_control_change_is_told check (
    (changed_at is null) = (actor is null) and (changed_at is null) = (reason is null)
      and (not is_paused or changed_at is not null)
  )
);

insert into cardauth.intake_control default values;

create function cardauth.tell_workers() returns trigger
  language plpgsql
as $$
begin
  perform pg_notify('cardauth_intake', '');
  return null;
end
$$;

create trigger intake_control_is_told after update on cardauth.intake_control
  for each statement execute function cardauth.tell_workers();

create trigger intake_control_stays before delete or truncate on cardauth.intake_control
  for each statement execute function cardauth.refuse('there is one switch of the intake');

-- What workers say of themselves, every other second: not worth a write-ahead log, a crash of the server leaves it empty
-- until they say it again. Whether a worker lives is told by its advisory lock.
create unlogged table cardauth.workers (
  worker integer not null,
  host text not null,
  pid integer not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default now(),
  state text not null,
  report jsonb not null,

  constraint workers_pkey primary key (worker)
);
