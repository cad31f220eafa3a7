/** What every contestant of ours-to-write is started with, as JSON in its first argument. */
export interface ContestantTask {
  readonly amqpUrl: string;
  readonly databaseUrl: string;
  readonly gatewayUrl: string;
  readonly ordersQueue: string;
  /** Topic exchange of the announcements. */
  readonly exchange: string;
  /** Orders in flight at most. */
  readonly prefetch: number;
}

export function readTask(): ContestantTask {
  return JSON.parse(process.argv[2] ?? '') as ContestantTask;
}

/** Ends well on SIGTERM: `close` first, which lets what is settled reach broker and database. */
export function endOnSignal(close: () => Promise<unknown>): void {
  process.once('SIGTERM', () => {
    void close().finally(() => process.exit(0));
  });
}
