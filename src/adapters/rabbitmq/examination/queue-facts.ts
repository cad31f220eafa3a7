/** A queue as the management API tells of it, reduced to what doctor judges. */
export interface QueueFacts {
  /** `classic`, `quorum`, `stream`, ... */
  readonly type: string;
  readonly isDurable: boolean;
  readonly isAutoDelete: boolean;
  /** Arguments without their `x-`, then what the effective policy adds; see `settingOf`. */
  readonly settings: ReadonlyMap<string, Setting>;
  /** Nodes that hold a replica, and those of them that are online; of replicated types only. */
  readonly members: readonly string[];
  readonly online: readonly string[];
}

export interface Setting {
  readonly value: string | number | boolean;
  readonly from: 'argument' | 'policy';
}

/** undefined when the answer is not complete: statistics come seconds after a queue was declared. */
export function queueFactsOf(json: unknown): QueueFacts | undefined {
  const queue = recordOf(json);
  const policy = queue['effective_policy_definition'];
  if (typeof queue['type'] !== 'string' || policy === undefined) return undefined;
  return {
    type: queue['type'],
    isDurable: queue['durable'] === true,
    isAutoDelete: queue['auto_delete'] === true,
    settings: settingsOf(recordOf(queue['arguments']), recordOf(policy)),
    members: textsOf(queue['members']),
    online: textsOf(queue['online']),
  };
}

/** Limits in both places: the lower one counts (RabbitMQ, "Parameters and Policies"); of others the argument. */
const LOWEST_COUNTS = new Set([
  'delivery-limit',
  'max-length',
  'max-length-bytes',
  'message-ttl',
  'expires',
  'consumer-timeout',
]);

function settingsOf(
  args: Readonly<Record<string, unknown>>,
  policy: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const [name, value] of Object.entries(policy)) {
    if (isScalar(value)) settings.set(name, { value, from: 'policy' });
  }
  for (const [name, value] of Object.entries(args)) {
    const short = name.replace(/^x-/, '');
    const other = settings.get(short);
    if (!isScalar(value)) continue;
    const isHigher = LOWEST_COUNTS.has(short) && other !== undefined && Number(other.value) < Number(value);
    if (!isHigher) settings.set(short, { value, from: 'argument' });
  }
  return settings;
}

export function numberOf(facts: QueueFacts, name: string): number | undefined {
  const value = facts.settings.get(name)?.value;
  return typeof value === 'number' ? value : undefined;
}

export function textOf(facts: QueueFacts, name: string): string | undefined {
  const value = facts.settings.get(name)?.value;
  return typeof value === 'string' ? value : undefined;
}

export function recordOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
    ? (json as Record<string, unknown>)
    : {};
}

export function listOf(json: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(json) ? json.map(recordOf) : [];
}

function textsOf(json: unknown): readonly string[] {
  return Array.isArray(json) ? json.filter((item) => typeof item === 'string') : [];
}

function isScalar(value: unknown): value is Setting['value'] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
