/** An operating error: the tuple fails and is replayed by the policy of its class. */
export class RetriableError extends Error {
  override readonly name = 'RetriableError';
  readonly errorClass: string;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { errorClass: string; retryAfterMs?: number; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.errorClass = options.errorClass;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** No replay can help: the tuple is acked and goes to the error stream. */
export class NonRetriableError extends Error {
  override readonly name = 'NonRetriableError';
  readonly errorClass: string;

  constructor(message: string, options: { errorClass: string; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.errorClass = options.errorClass;
  }
}

/** A bolt or spout used the runtime against its contract: a bug in it. */
export class TopologyUsageError extends Error {
  override readonly name = 'TopologyUsageError';
}
