// npm test: everything that `node --test` needs, then the tests, then nothing left behind.
//
//   npm test                                       all but the slow ones
//   npm test -- .slow.                             those: minutes each, part of `npm run verify`
//   npm test -- acker domain/                      files whose path contains one of these
//   npm test -- acker --test-name-pattern=replay   options go to Node's test runner
import { relative } from 'node:path';
import { bootstrap, checkNode, filesBelow, outputOf } from './bootstrap.mjs';
import { exitWith, progress, projectFolder, run } from './run.mjs';
import { startServices } from './services.mjs';

const fileTimeoutMs = 600_000;

await exitWith(async () => {
  checkNode();
  const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
  const filters = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const files = testFiles(filters);

  // The compiler and the broker both take seconds to start, and neither needs the other.
  const starting = startServices({ log: progress });
  const [services, built] = await Promise.allSettled([starting, bootstrap()]);
  if (built.status === 'rejected') await services.value?.stop();
  for (const part of [built, services]) if (part.status === 'rejected') throw part.reason;
  try {
    const args = [...runnerOptions(), ...options, ...files.map(outputOf)];
    return await run(process.execPath, args, testEnvironment(services.value));
  } finally {
    await services.value.stop();
  }
});

/** Taken from the sources, because dist may still hold tests that are gone. */
function testFiles(filters) {
  const all = filesBelow('test').filter((path) => path.endsWith('.test.ts'));
  const chosen = all.filter((path) => {
    const name = relative(projectFolder, path);
    return filters.length === 0 ? !isSlow(name) : filters.some((filter) => name.includes(filter));
  });
  if (filters.length === 0)
    progress(`${all.filter(isSlow).length} slow test files are left to npm run verify`);
  if (chosen.length === 0) {
    throw new Error(
      `none of the ${all.length} test files has ${filters.join(' or ') || '.test.ts'} in its path`,
    );
  }
  return chosen.sort();
}

function isSlow(path) {
  return path.endsWith('.slow.test.ts');
}

function runnerOptions() {
  return [
    '--enable-source-maps',
    '--test',
    '--test-reporter=spec',
    `--test-concurrency=${process.env.CARDAUTH_TEST_CONCURRENCY ?? 2}`,
    `--test-timeout=${fileTimeoutMs}`,
  ];
}

function testEnvironment({ amqpUrl, databaseUrl, rabbitmqctl }) {
  const env = { ...process.env, CARDAUTH_TEST_AMQP_URL: amqpUrl, CARDAUTH_TEST_DATABASE_URL: databaseUrl };
  if (rabbitmqctl) env.CARDAUTH_TEST_RABBITMQCTL = JSON.stringify(rabbitmqctl);
  // The tests must name what they use: nothing may reach a broker or database of the caller by default.
  delete env.AMQP_URL;
  delete env.DATABASE_URL;
  return env;
}
