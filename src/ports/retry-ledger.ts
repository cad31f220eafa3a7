/** Which copies of orders wait on a delay queue, and which are overdue: for people; nothing decides by it. */

/** Written best effort and after the fact. Neither call waits or throws; what cannot be kept is counted and dropped. */
export interface RetryLedger {
  /** The broker has confirmed the copy. */
  sent(copy: SentCopy): void;
  /** The copy came back to a worker; any number of times. */
  returned(copyId: string): void;
}

export interface SentCopy {
  /** UUID, in the copy's header `cardauth-copy-id`. */
  readonly copyId: string;
  readonly orderId: string | undefined;
  readonly messageId: string | undefined;
  /** The delay queue's time to live. */
  readonly levelMs: number;
  /** Why it was sent: the class of the error that failed its tuple tree. */
  readonly reasonClass: string;
}

export interface OverdueRetries {
  /**
   * Copies that did not come back within their level's time and as much again (a minute at least), the longest due
   * first, at most `limit` of them. Not counted: copies of orders that are announced, or that were parked since. They
   * may wait on the orders queue behind a backlog; otherwise look at the delay queues. Rejects with a RetriableError of
   * class `database` when the database cannot be used.
   */
  overdue(limit: number): Promise<{ readonly count: number; readonly oldest: readonly OverdueCopy[] }>;
}

export interface OverdueCopy extends SentCopy {
  readonly sentAtMs: number;
  readonly dueAtMs: number;
}
