-- Operators' lists and reconciliation.

-- What waits for a verdict or an announcement is few beside what is done.
create index orders_without_verdict on cardauth.orders (created_at, order_id)
  where status in ('authorizing', 'authorization-unknown', 'review');
create index orders_unannounced on cardauth.orders (decided_at, order_id)
  where status in ('ready-to-ship', 'denied') and notified_at is null;

-- Reconciliation reads the approvals of a range of time. Rows are written in the order of their creation.
create index attempts_created_at on cardauth.attempts using brin (created_at);

-- Each comparison of our approvals with the gateway's, and what it found. Written once, at its end.
create table cardauth.reconciliation_runs (
  run_id uuid not null,
  started_at timestamptz not null,
  finished_at timestamptz not null default now(),
  source text not null,
  range_from timestamptz not null,
  range_to timestamptz not null,
  holds integer not null,
  approvals integer not null,
  -- Whether it was to settle what is certain.
  fixing boolean not null,

  constraint reconciliation_runs_pkey primary key (run_id),
  constraint reconciliation_runs_range_ascends check (range_from <= range_to),
  constraint reconciliation_runs_counts_not_negative check (holds >= 0 and approvals >= 0)
);

create table cardauth.reconciliation_differences (
  run_id uuid not null,
  number integer not null,
  kind text not null,
  order_id text collate "C" not null,
  gateway_reference text,
  explanation text not null,
  -- What became of it in this run: null when nothing was tried.
  settled text,

  constraint reconciliation_differences_pkey primary key (run_id, number),
  constraint reconciliation_differences_run_id_fkey foreign key (run_id)
    references cardauth.reconciliation_runs (run_id)
);

create index reconciliation_differences_order_id on cardauth.reconciliation_differences (order_id);

create trigger reconciliation_runs_append_only before update or delete or truncate on cardauth.reconciliation_runs
  for each statement execute function cardauth.refuse('reconciliations are append-only');
create trigger reconciliation_differences_append_only
  before update or delete or truncate on cardauth.reconciliation_differences
  for each statement execute function cardauth.refuse('reconciliations are append-only');
