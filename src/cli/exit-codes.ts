/** What `cardauth` exits with; scripts rely on it. 69 and 78 are EX_UNAVAILABLE and EX_CONFIG of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** Some of it was done. */
  partly: 3,
  /** Nothing was done: it wants `--yes` first. */
  confirmationNeeded: 5,
  unreachable: 69,
  configuration: 78,
  /** 128 + the signal's number. */
  interrupted: 130,
  terminated: 143,
} as const;

/** Ends a command with a message on stderr and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

const unreachableCodes = new Set([
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ETIMEDOUT',
    'EPIPE',
  ],
]);
const unreachableClasses = new Set(['database', 'gateway', 'publisher_unavailable']);

/** Whether `error`, or what caused it, says that a service could not be reached. */
export function isUnreachable(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 4) return false;
  if ('code' in error && unreachableCodes.has(String(error.code))) return true;
  if ('errorClass' in error && unreachableClasses.has(String(error.errorClass))) return true;
  if (error instanceof AggregateError && error.errors.some((one) => isUnreachable(one, depth + 1)))
    return true;
  return isUnreachable(error.cause, depth + 1);
}
