/** The gateway: the simulator, which lets go by itself what its faults hold, and writes down at the end what it was asked. */
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import { chaosFaults } from './faults.ts';
import { pathOf, record } from './files.ts';

export interface SimulatorTask {
  readonly folder: string;
  readonly port: number;
  readonly seed: number;
}

const RELEASE_EVERY_MS = 500;
const MOST_REQUESTS = 1_000_000;

const { folder, port, seed } = JSON.parse(process.argv[2] ?? '') as SimulatorTask;
const simulator = await startSimulator({
  port,
  ledgerFile: pathOf(folder, 'ledger'),
  faults: chaosFaults(seed),
  requestLogSize: MOST_REQUESTS,
});
const releasing = setInterval(() => void ask('/__release', 'POST'), RELEASE_EVERY_MS);
process.once('SIGTERM', () => void end());

async function end(): Promise<void> {
  clearInterval(releasing);
  const { recent } = (await (await ask('/__requests')).json()) as { recent: LoggedRequest[] };
  record(folder, 'requests', ...recent);
  await simulator.close();
}

function ask(path: string, method = 'GET'): Promise<Response> {
  return fetch(simulator.url + path, { method });
}
