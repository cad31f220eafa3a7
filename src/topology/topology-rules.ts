/** The rules that a topology must keep to be run. Each problem says what is wrong, where, and what to do. */
import { ERROR_STREAM } from './bolt.ts';
import { MOST_LIVE_TREES, type BoltDeclaration, type InputDeclaration, type Topology } from './topology.ts';

const SHORTEST_TIMEOUT_MS = 100;
const MOST_TASKS = 1024;

export function findProblems(topology: Topology): string[] {
  return [
    ...idProblems(topology),
    ...timeoutProblems(topology),
    ...capProblems(topology),
    ...topology.bolts.flatMap(sizeProblems),
    ...topology.bolts.flatMap((bolt) => inputProblems(bolt, topology)),
    ...consumerProblems(topology),
    ...cycleProblems(topology),
  ];
}

function idProblems({ spouts, bolts }: Topology): string[] {
  const problems: string[] = [];
  if (spouts.length === 0) problems.push('there is no spout: declare one');
  const seen = new Set<string>();
  for (const { id, streams } of [...spouts, ...bolts]) {
    if (!/^[a-z][a-z0-9-]*$/.test(id)) {
      problems.push(`component id ${JSON.stringify(id)} must be lower-case words joined by hyphens`);
    }
    if (seen.has(id)) problems.push(`component id "${id}" is used twice: give each component its own`);
    seen.add(id);
    for (const [stream, names] of Object.entries(streams)) {
      if (new Set(names).size < names.length) problems.push(`stream "${id}.${stream}" names a field twice`);
    }
  }
  for (const { id, streams } of bolts) {
    if (Object.hasOwn(streams, ERROR_STREAM)) {
      problems.push(`bolt "${id}" declares the stream "${ERROR_STREAM}", which every bolt has: rename it`);
    }
  }
  return problems;
}

function timeoutProblems({ messageTimeoutMs, maxTreeLifetimeMs, spouts }: Topology): string[] {
  if (messageTimeoutMs === 'off') {
    return spouts
      .filter(({ maxSpoutPending }) => Number.isFinite(maxSpoutPending))
      .map(
        ({ id, maxSpoutPending }) =>
          `the message timeout is off, but spout "${id}" has a cap of ${maxSpoutPending}: trees that never end ` +
          'would fill it and stop the spout; set a timeout, or maxSpoutPending to Infinity',
      );
  }
  const problems: string[] = [];
  if (!(messageTimeoutMs >= SHORTEST_TIMEOUT_MS && Number.isFinite(messageTimeoutMs))) {
    problems.push(
      `messageTimeoutMs must be "off" or at least ${SHORTEST_TIMEOUT_MS}, got ${messageTimeoutMs}`,
    );
  }
  if (!(maxTreeLifetimeMs >= messageTimeoutMs)) {
    problems.push(
      `maxTreeLifetimeMs (${maxTreeLifetimeMs}) must not be less than messageTimeoutMs (${messageTimeoutMs})`,
    );
  }
  return problems;
}

function capProblems({ spouts }: Topology): string[] {
  const problems = spouts
    .filter(({ maxSpoutPending: cap }) => cap !== Infinity && !isIntegerWithin(cap, 1, MOST_LIVE_TREES))
    .map(
      ({ id, maxSpoutPending: cap }) =>
        `maxSpoutPending of spout "${id}" must be Infinity or an integer in 1..${MOST_LIVE_TREES}, got ${cap}`,
    );
  const total = spouts.reduce((sum, { maxSpoutPending: cap }) => sum + (Number.isFinite(cap) ? cap : 0), 0);
  if (problems.length === 0 && total > MOST_LIVE_TREES) {
    problems.push(`the caps of all spouts add up to ${total}; at most ${MOST_LIVE_TREES} trees can be alive`);
  }
  return problems;
}

function sizeProblems(bolt: BoltDeclaration): string[] {
  const problems: string[] = [];
  const check = (name: string, value: number, most: number): void => {
    if (isIntegerWithin(value, 1, most)) return;
    problems.push(`${name} of bolt "${bolt.id}" must be an integer in 1..${most}, got ${value}`);
  };
  check('tasks', bolt.tasks, MOST_TASKS);
  check('concurrency', bolt.concurrency, 2 ** 20);
  check('mailboxCapacity', bolt.mailboxCapacity, 2 ** 20);
  if (bolt.tickEveryMs !== undefined && !(bolt.tickEveryMs >= 1 && Number.isFinite(bolt.tickEveryMs))) {
    problems.push(`tickEveryMs of bolt "${bolt.id}" must be at least 1, got ${bolt.tickEveryMs}`);
  }
  return problems;
}

function inputProblems(bolt: BoltDeclaration, topology: Topology): string[] {
  if (bolt.inputs.length === 0) return [`bolt "${bolt.id}" consumes nothing: give it an input`];
  const seen = new Set<string>();
  return bolt.inputs.flatMap((input) => {
    const name = `${input.from}.${input.stream}`;
    if (seen.has(name)) return [`bolt "${bolt.id}" consumes "${name}" twice: keep one of the two inputs`];
    seen.add(name);
    return sourceProblems(bolt.id, input, topology);
  });
}

function sourceProblems(boltId: string, input: InputDeclaration, topology: Topology): string[] {
  const streams = streamsOf(input.from, topology);
  if (streams === undefined) {
    return [`bolt "${boltId}" consumes from "${input.from}", which is not a component of this topology`];
  }
  const fields = streams.get(input.stream);
  if (fields === undefined) {
    const known = [...streams.keys()].map((stream) => `"${stream}"`).join(', ') || 'none';
    return [
      `bolt "${boltId}" consumes stream "${input.stream}", which "${input.from}" never emits (it has: ${known})`,
    ];
  }
  return groupingFields(input)
    .filter((field) => !fields.includes(field))
    .map(
      (field) =>
        `bolt "${boltId}" groups "${input.from}.${input.stream}" by the unknown field "${field}" ` +
        `(it has: ${fields.join(', ') || 'none'})`,
    );
}

function groupingFields({ grouping }: InputDeclaration): readonly string[] {
  if (grouping.kind === 'fields' || grouping.kind === 'partial-key') return grouping.fields;
  return grouping.kind === 'direct' ? [grouping.taskField] : [];
}

function streamsOf(id: string, { spouts, bolts }: Topology): Map<string, readonly string[]> | undefined {
  const spout = spouts.find((candidate) => candidate.id === id);
  if (spout !== undefined) return new Map(Object.entries(spout.streams));
  const bolt = bolts.find((candidate) => candidate.id === id);
  if (bolt === undefined) return undefined;
  return new Map([...Object.entries(bolt.streams), [ERROR_STREAM, ['error', 'values']]]);
}

/** What nobody consumes is lost in silence, so it has to be said that this is meant. */
function consumerProblems({ spouts, bolts }: Topology): string[] {
  const consumed = new Set(
    bolts.flatMap(({ inputs }) => inputs.map(({ from, stream }) => `${from}.${stream}`)),
  );
  return [...spouts, ...bolts].flatMap(({ id, streams, unconsumed }) => [
    ...Object.keys(streams)
      .filter((stream) => !consumed.has(`${id}.${stream}`) && !unconsumed.includes(stream))
      .map((stream) => `nobody consumes "${id}.${stream}": add a consumer, or name it in "unconsumed"`),
    ...unconsumed
      .filter((stream) => !Object.hasOwn(streams, stream))
      .map((stream) => `"unconsumed" of "${id}" names the unknown stream "${stream}"`),
  ]);
}

/** Bolts that wait for room in each other's mailboxes in a circle could wait for ever. */
function cycleProblems({ bolts }: Topology): string[] {
  const upstream = new Map(bolts.map(({ id, inputs }) => [id, inputs.map(({ from }) => from)]));
  const acyclic = new Set<string>();
  const visit = (id: string, path: readonly string[]): readonly string[] | undefined => {
    if (acyclic.has(id)) return undefined;
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id];
    for (const from of upstream.get(id) ?? []) {
      const cycle = visit(from, [...path, id]);
      if (cycle !== undefined) return cycle;
    }
    acyclic.add(id);
    return undefined;
  };
  for (const { id } of bolts) {
    const cycle = visit(id, []);
    if (cycle !== undefined) return [`bolts form a cycle: ${cycle.toReversed().join(' -> ')}; break it`];
  }
  return [];
}

function isIntegerWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}
