-- Copies of orders that wait on a delay queue: when they were sent, when they are due, and whether they came back. For
-- people only, written after the fact and best effort: nothing decides by it.

create table cardauth.retry_ledger (
  copy_id uuid not null,
  -- null: the copy came back before the note that it was sent.
  order_id text collate "C",
  message_id text,
  level_ms bigint,
  reason_class text,
  sent_at timestamptz,
  due_at timestamptz,
  returned_at timestamptz,

  constraint retry_ledger_pkey primary key (copy_id),
  constraint retry_ledger_says_something check (returned_at is not null or (sent_at is not null and due_at is not null))
);

create index retry_ledger_waiting on cardauth.retry_ledger (due_at) where returned_at is null;
create index retry_ledger_returned on cardauth.retry_ledger (returned_at) where returned_at is not null;
