/** Faults that strike at a time: a worker, the broker, the database, the gateway, a clock. */
import type { Fault } from './faults.ts';
import type { SimulatedProcess } from './machine.ts';
import type { RunParts } from './run-parts.ts';
import type { SupervisedWorker } from './worker.ts';

export function strike(run: RunParts, fault: Fault): void {
  run.time.after(fault.atMs ?? 0, () => {
    const who = fault.site === 'operator' ? 'operator' : 'world';
    run.trace.note(run.time.nowMs, who, () => `! ${fault.kind} (${fault.nth}, ${fault.ms} ms)`);
    if (fault.site === 'operator') run.operators.act(fault);
    else strikeNow(run, fault);
  });
}

function strikeNow(run: RunParts, { kind, ms, nth }: Fault): void {
  const { broker, database, gateway, time, workers } = run;
  const worker = workers[nth % workers.length];
  const untilMs = time.nowMs + ms;
  switch (kind) {
    case 'kill':
      onProcess(worker, (process) => {
        run.kill(process);
      });
      break;
    case 'vanish':
      onProcess(worker, (process) => {
        run.kill(process, true);
      });
      break;
    case 'terminate':
      worker?.terminate((process) => {
        process.kill();
        run.startAgain(worker);
      });
      break;
    case 'stop':
      onProcess(worker, (process) => {
        run.stop(process, ms);
      });
      break;
    case 'wall-clock':
      onProcess(worker, (process) => {
        process.wallOffsetMs += ms;
      });
      break;
    case 'broker-restart':
      broker.restart(ms / 20);
      break;
    case 'broker-away':
      broker.restart(ms);
      break;
    case 'broker-alarm':
      broker.block(ms);
      break;
    case 'queue-moved':
      broker.moveQueue();
      break;
    case 'database-restart':
      database.restart(ms / 20);
      break;
    case 'database-away':
      database.restart(ms);
      break;
    case 'database-clock':
      database.wallOffsetMs += ms;
      break;
    case 'gateway-away':
      gateway.awayUntilMs = untilMs;
      break;
    case 'gateway-misconfigured':
      gateway.misconfiguredUntilMs = untilMs;
      break;
    case 'gateway-rate-limit':
      gateway.rateLimitedUntilMs = untilMs;
      break;
    case 'downstream-unbound':
      broker.unboundUntilMs = untilMs;
      break;
    default:
      throw new Error(`${kind} strikes at a call, not at a time`);
  }
}

function onProcess(worker: SupervisedWorker | undefined, act: (process: SimulatedProcess) => void): void {
  if (worker?.process !== undefined) act(worker.process);
}
