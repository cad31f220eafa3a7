// npm run model: searches model/claim.pml with Spin. The protocol holds in every state that can be reached, each
// broken variant is refuted by the property that it breaks, and no line of the model was left out of the search.
//
// Needs Spin and a C compiler (Debian: spin, gcc, libc6-dev); takes about half a minute and 0.5 GB.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canInstall, installPackages } from './services/apt.mjs';
import { findCommand } from './services/find-binaries.mjs';
import { exitWith, progress, projectFolder } from './run.mjs';

const model = join(projectFolder, 'model', 'claim.pml');

const properties = {
  'one charge': 'charges<=1',
  'no false denial': '(charges>0)&&(status==',
  'none lost': 'announced)||parked',
};

/** Each variant with the property that must fail; the protocol itself has none. */
const variants = [
  { name: 'the protocol' },
  { name: 'a new key for every claim', define: 'RANDOM_KEY', refutes: 'one charge' },
  { name: 'a timeout taken for a decline', define: 'TIMEOUT_IS_DECLINE', refutes: 'no false denial' },
  { name: '"not found" taken for "not charged"', define: 'NOT_FOUND_IS_NOT_CHARGED', refutes: 'one charge' },
  { name: 'the message acked first', define: 'EARLY_ACK', refutes: 'none lost' },
  { name: 'a key window without margin', define: 'NO_MARGIN', refutes: 'one charge' },
];

await exitWith(async () => {
  requireTools();
  const failures = variants.map(search).filter((passed) => !passed).length;
  console.log(`${variants.length - failures} passed, ${failures} failed`);
  return failures === 0 ? 0 : 1;
});

function requireTools() {
  const missing = () => ['spin', 'gcc'].filter((command) => findCommand(command) === undefined);
  if (missing().length > 0 && canInstall()) installPackages(['spin', 'gcc', 'libc6-dev'], progress);
  if (missing().length === 0) return;
  throw new Error(`${missing().join(' and ')} not found: install Spin (spinroot.com) and a C compiler`);
}

/** Searches one variant, prints what came of it, and says whether that is what was expected. */
function search({ name, define, refutes }) {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-model-'));
  try {
    const run = (command, args) => outputOf(command, args, folder);
    run('spin', [...(define === undefined ? [] : [`-D${define}`]), '-a', model]);
    run('gcc', ['-O2', '-DSAFETY', '-DCOLLAPSE', '-DVECTORSZ=2048', '-o', 'pan', 'pan.c']);
    const report = run(join(folder, 'pan'), ['-m200000']);
    const problem = refutes === undefined ? whyItDoesNotHold(report) : whyNotRefuted(report, refutes);
    const states = /(\S+) states, stored/.exec(report)?.[1];
    const found = refutes === undefined ? 'holds in all of them' : `breaks "${refutes}"`;
    console.log(`${problem === undefined ? 'ok ' : 'BAD'} ${name}: ${states} states, ${problem ?? found}`);
    return problem === undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function whyItDoesNotHold(report) {
  const error = /pan:\d+: (.+)/.exec(report)?.[1];
  if (error !== undefined) return error;
  if (!report.includes('errors: 0') || report.includes('max search depth too small'))
    return 'not searched completely';
  // Processes run for ever, so their ends are never reached; anything else that was not reached was not checked.
  const unreached = [...report.matchAll(/^\t\S+, state \d+, "(.+)"$/gm)].map(([, statement]) => statement);
  const unchecked = unreached.filter((statement) => statement !== '-end-');
  return unchecked.length === 0 ? undefined : `never reached: ${unchecked.join('; ')}`;
}

function whyNotRefuted(report, property) {
  const error = /pan:\d+: (.+)/.exec(report)?.[1];
  if (error === undefined) return 'not refuted';
  return error.replaceAll(' ', '').includes(properties[property])
    ? undefined
    : `breaks something else: ${error}`;
}

function outputOf(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} failed: ${error?.message ?? `exit code ${status}`}\n${stdout}${stderr}`);
}
