/**
 * Whether something the worker depends on can be used now. The intake is held while any of them cannot, and
 * readiness says which and why.
 */
export interface Availability {
  /** For people, e.g. `database`, `gateway`, `notifications`. */
  readonly name: string;
  /** undefined when it can be used; otherwise why not, in one line. */
  unavailableBecause(): string | undefined;
  /**
   * How many orders may be at work meanwhile, when it is not simply none or any number: while it cannot be used, one
   * may go and find out whether it can again; when it can again, more and more may.
   */
  mostInWork?(): number;
  /** Calls `listener` after every change; returns the function that stops it. */
  onChange(listener: () => void): () => void;
}
