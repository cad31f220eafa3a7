-- Replays of parked orders: a batch with a frozen list of members, which can be watched, stopped, cancelled and, when its
-- command was killed, taken up again where it ended.

create table cardauth.replay_batches (
  batch_id uuid not null,
  -- The advisory lock that the command holds while it works on the batch: nobody holds it, nobody does.
  number integer generated always as identity,
  created_at timestamptz not null default now(),
  command_id text not null,
  actor text not null,
  reason text not null,
  queue text not null,
  messages_per_second double precision not null,
  -- As many of the last hundred that are parked again stop it.
  stop_after_failures integer not null,
  -- Older orders are not charged any more.
  max_age_ms bigint not null,
  state text not null default 'open',
  stopped_because text,
  finished_at timestamptz,

  constraint replay_batches_pkey primary key (batch_id),
  constraint replay_batches_command_once unique (command_id),
  constraint replay_batches_state_known check (state in ('open', 'stopped', 'cancelled', 'done')),
  constraint replay_batches_rate_positive check (messages_per_second > 0),
  constraint replay_batches_stop_positive check (stop_after_failures >= 1),
  constraint replay_batches_max_age_positive check (max_age_ms >= 1),
  constraint replay_batches_stopped_says_why check ((state = 'stopped') = (stopped_because is not null)),
  constraint replay_batches_finished_has_time check ((state in ('cancelled', 'done')) = (finished_at is not null))
);

-- published: confirmed by the broker, and marked after that; closed: there was nothing to do; left: it became wrong or
-- impossible meanwhile; cancelled: with its batch. The last two are parked again, and free for another batch.
create table cardauth.replay_members (
  batch_id uuid not null,
  number integer not null,
  park_id uuid not null,
  order_id text collate "C",
  state text not null default 'waiting',
  detail text,
  settled_at timestamptz,

  constraint replay_members_pkey primary key (batch_id, number),
  constraint replay_members_once unique (batch_id, park_id),
  constraint replay_members_batch_id_fkey foreign key (batch_id) references cardauth.replay_batches (batch_id),
  constraint replay_members_state_known check (state in ('waiting', 'published', 'closed', 'left', 'cancelled')),
  constraint replay_members_settled_has_time check ((state = 'waiting') = (settled_at is null))
);

create index replay_members_published on cardauth.replay_members (batch_id, settled_at) where state = 'published';

create trigger replay_members_settled_once before update on cardauth.replay_members
  for each row when (old.state <> 'waiting')
  execute function cardauth.refuse('what became of a member of a replay is said once');

create trigger replay_batches_ended_stays_ended before update on cardauth.replay_batches
  for each row when (old.finished_at is not null)
  execute function cardauth.refuse('a replay that is done or cancelled stays so');
