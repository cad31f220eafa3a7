import { simulate } from './simulation.ts';
const [from = '1', count = '20', trace = ''] = process.argv.slice(2);
Error.stackTraceLimit = 0;
const cpu = process.cpuUsage();
const began = performance.now();
let kills = 0,
  orders = 0,
  events = 0,
  bad = 0,
  simMs = 0;
const by = new Map<string, number>();
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const result = await simulate({
    seed,
    keepTrace: trace !== '',
    ...(process.env['CLEAN'] ? { plan: [] } : {}),
  });
  kills += result.kills;
  orders += result.orders;
  events += result.events;
  simMs += result.simulatedMs;
  if (trace !== '') console.log(result.trace.join('\n'));
  if (result.violations.length > 0) {
    bad++;
    const v = result.violations[0];
    const k = `${v?.invariant}`;
    by.set(k, (by.get(k) ?? 0) + 1);
    if (bad <= 15)
      console.log(
        seed,
        result.violations
          .slice(0, 3)
          .map((v) => `${v.invariant} ${v.what} @${Math.round(v.atMs)}`)
          .join(' | '),
      );
  }
}
const s = (performance.now() - began) / 1000;
const used = process.cpuUsage(cpu);
console.log(
  {
    cpuMs: (used.user + used.system) / 1000 / Number(count),
    seeds: count,
    s,
    perS: Number(count) / s,
    kills,
    orders,
    events,
    bad,
    simMs: simMs / Number(count),
  },
  by,
);
