/**
 * The fields that may appear in a log line: a closed list, so that a new field is a decision and card data (a CVV
 * has three digits; no pattern finds it) has no name to be logged under. Of an allowed field, text is cut, errors
 * are reduced to what says no data, and objects are left out. What was left out is named in `omitted`.
 */

const allowedNames: ReadonlySet<string> = new Set([
  // orders
  ...['orderId', 'customerId', 'status', 'statusReason', 'generation', 'attempt', 'attempts', 'claim'],
  ...[
    'amountMinor',
    'currency',
    'idempotencyKey',
    'gatewayReference',
    'reference',
    'reason',
    'class',
    'step',
  ],
  ...[
    'alarm',
    'inquiry',
    'authorizationExpiresAt',
    'leftMs',
    'outcome',
    'code',
    'declineCode',
    'eventId',
    'routingKey',
  ],
  // broker
  ...['queue', 'exchange', 'messageId', 'epoch', 'broker', 'brokerVersion', 'role', 'publisher', 'prefix'],
  ...[
    'prefetch',
    'channel',
    'eventName',
    'retryAfterMs',
    'delayMs',
    'nextAttemptInMs',
    'levelMs',
    'redelivered',
    'parkId',
    'isNew',
  ],
  // database
  ...['migration', 'schemaVersion', 'worker', 'owner', 'constraint', 'sqlState', 'facts'],
  // gateway
  ...['gateway', 'dialect', 'httpStatus', 'requestId', 'cause', 'breaker', 'connections'],
  // topology
  ...['component', 'task', 'phase', 'stream', 'ageMs', 'remainingMs', 'pending', 'errorClass', 'where'],
  ...['completed', 'returned', 'unknown', 'lagMs', 'stalledMs'],
  // process
  ...[
    'name',
    'what',
    'why',
    'because',
    'before',
    'after',
    'state',
    'detail',
    'err',
    'signal',
    'exitCode',
    'version',
  ],
  ...['host', 'port', 'url', 'path', 'file', 'line', 'count', 'durationMs', 'timeoutMs', 'deadlineMs'],
  ...['origin', 'holds', 'reasons', 'traceId', 'spanId', 'nodeVersion', 'settings', 'dropped'],
]);

const MAX_TEXT_LENGTH = 1024;
const MAX_ITEMS = 32;
const MAX_CAUSES = 3;
const MAX_FRAMES = 8;

export function isLoggableField(name: string): boolean {
  return allowedNames.has(name);
}

/** A new object with nothing in it but what may be printed. */
export function loggable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const printed: Record<string, unknown> = {};
  const omitted: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const shown = allowedNames.has(name) ? printable(value) : omission;
    if (shown === omission) omitted.push(cut(name, 64));
    else printed[name] = shown;
  }
  return omitted.length === 0 ? printed : { ...printed, omitted: omitted.slice(0, MAX_ITEMS) };
}

const omission = Symbol('left out');

function printable(value: unknown): unknown {
  if (value instanceof Error) return printableError(value, MAX_CAUSES);
  if (Array.isArray(value)) {
    return value
      .slice(0, MAX_ITEMS)
      .map((item: unknown) => scalar(item))
      .filter((item) => item !== omission);
  }
  return scalar(value);
}

function scalar(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return cut(value, MAX_TEXT_LENGTH);
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      return printableNumber(value);
    case 'bigint':
      return value.toString();
    default:
      if (value === null) return null;
      return value instanceof Date ? dateText(value) : omission;
  }
}

/**
 * A number in the line must not look like a card number: masking its digits would break the JSON around it. So
 * fractions are rounded, and what still has twelve digits in a row is printed as text.
 */
function printableNumber(value: number): number | string {
  const rounded = Number.isInteger(value) ? value : Math.round(value * 1000) / 1000;
  return Number.isFinite(rounded) && Math.abs(rounded) < 1e11 ? rounded : String(value);
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'invalid date' : date.toISOString();
}

interface PrintableError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly errorClass?: string;
  /** Frames only: the head of a stack repeats the message. */
  readonly stack?: readonly string[];
  readonly cause?: PrintableError;
}

function printableError(error: Error, causesLeft: number): PrintableError {
  const { cause } = error;
  const stack = frames(error);
  return {
    type: cut(error.name, 64),
    message: messageOf(error),
    ...('code' in error && isShort(error.code) ? { code: String(error.code) } : {}),
    ...('errorClass' in error && isShort(error.errorClass) ? { errorClass: String(error.errorClass) } : {}),
    ...(stack.length > 0 ? { stack } : {}),
    ...(cause instanceof Error && causesLeft > 0 ? { cause: printableError(cause, causesLeft - 1) } : {}),
  };
}

/** `JSON.parse` and `new URL` quote what they were given: their messages are withheld. */
function messageOf(error: Error): string {
  const quotesInput = error instanceof SyntaxError || ('code' in error && error.code === 'ERR_INVALID_URL');
  return quotesInput ? '(withheld: it may quote its input)' : cut(error.message, MAX_TEXT_LENGTH);
}

function frames(error: Error): readonly string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^ {4}at \S.*(:\d+:\d+\)?|\((<anonymous>|native)\))$/.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => cut(line.trim(), 256));
}

function isShort(code: unknown): code is string | number {
  return typeof code === 'number' || (typeof code === 'string' && code.length <= 64);
}

export function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}... (${text.length} characters)`;
}
