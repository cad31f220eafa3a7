import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collect, type Sources } from '../../src/config/sources.ts';
import { closest, editDistance } from '../../src/config/spelling.ts';

const files: Record<string, string> = {
  '/run/key': 'key-from-file\n',
  '/run/empty': '\n',
  '/run/huge': 'x'.repeat(70_000),
  'prod.env':
    '# comment\nexport LOG_LEVEL=debug\nCARDAUTH_HTTP_PORT="1"\nCARDAUTH_GATEWAY_API_KEY_FILE=/run/key\n',
  'typo.env': 'CARDAUTH_GATEWAI=stripe\nUNRELATED=1\n',
};

function readFile(path: string): string {
  const text = files[path];
  if (text === undefined) throw Object.assign(new Error(`secret path ${path}`), { code: 'ENOENT' });
  return text;
}

function collected(sources: Partial<Sources>) {
  const { settings, problems } = collect({ env: {}, readFile, ...sources });
  const setting = (name: string) => {
    const found = settings.find(({ variable }) => variable.name === name);
    return [found?.text, found?.origin];
  };
  return { setting, problems: problems.map(({ what }) => what) };
}

describe('collect', () => {
  it('prefers flag over environment over NAME_FILE over --env-file over default', () => {
    const env = { LOG_LEVEL: 'warn', CARDAUTH_GATEWAY_API_KEY_FILE: '/run/key' };
    const envFile = 'prod.env';
    const { setting } = collected({ flags: { LOG_LEVEL: 'trace' }, env, envFile });
    assert.deepEqual(setting('LOG_LEVEL'), ['trace', 'flag']);
    assert.deepEqual(collected({ env, envFile }).setting('LOG_LEVEL'), ['warn', 'environment']);
    assert.deepEqual(setting('CARDAUTH_GATEWAY_API_KEY'), ['key-from-file', 'file /run/key']);
    assert.deepEqual(setting('CARDAUTH_HTTP_PORT'), ['1', 'prod.env']);
    assert.deepEqual(setting('LOG_FORMAT'), ['json', 'default']);
    assert.deepEqual(setting('CARDAUTH_CARD_KEY'), [undefined, 'unset']);
  });

  it('follows NAME_FILE inside an env file', () => {
    const { setting } = collected({ envFile: 'prod.env' });
    assert.deepEqual(setting('CARDAUTH_GATEWAY_API_KEY'), ['key-from-file', 'file /run/key']);
  });

  it('refuses a secret that is given twice', () => {
    const { problems } = collected({ env: { DATABASE_URL: 'postgres://x', DATABASE_URL_FILE: '/run/key' } });
    assert.deepEqual(problems, ['DATABASE_URL and DATABASE_URL_FILE are both set (environment)']);
  });

  for (const [path, complaint] of [
    ['/run/none', 'cannot be read (ENOENT)'],
    ['/run/empty', 'is empty'],
    ['/run/huge', 'is larger than 64 KiB'],
  ] as const) {
    it(`refuses a secret file that ${complaint}`, () => {
      const { problems } = collected({ env: { AMQP_URL_FILE: path } });
      assert.deepEqual(problems, [`AMQP_URL_FILE names ${path}, which ${complaint}`]);
    });
  }

  it('refuses an --env-file that cannot be read', () => {
    assert.deepEqual(collected({ envFile: 'none.env' }).problems, [
      '--env-file none.env cannot be read (ENOENT)',
    ]);
  });

  it('refuses names that do not exist, with a suggestion', () => {
    const env = { CARDAUTH_LEASE: '1', CARDAUTH_HTTP_PORT_FILE: '/x', CARDAUTH_ZZZ: '1', PATH: '/bin' };
    assert.deepEqual(collected({ env, envFile: 'typo.env' }).problems, [
      'CARDAUTH_LEASE is not a variable that exists (environment); did you mean CARDAUTH_LEASE_MS?',
      'CARDAUTH_HTTP_PORT_FILE is not a variable that exists (environment)',
      'CARDAUTH_ZZZ is not a variable that exists (environment)',
      'CARDAUTH_GATEWAI is not a variable that exists (typo.env); did you mean CARDAUTH_GATEWAY?',
    ]);
    assert.deepEqual(collected({ flags: { NONSENSE: '1' } }).problems.length, 1);
  });

  it('passes over names that belong to others', () => {
    const env = {
      CARDAUTH_TEST_AMQP_URL: 'x',
      CARDAUTH_COMPOSE_AMQP_PORT: '1',
      CARDAUTH_SERVICE_HOST: '10.0.0.1',
      CARDAUTH_WORKER_SERVICE_PORT_HTTP: '9464',
      CARDAUTH_PORT: 'tcp://10.0.0.1:9464',
      CARDAUTH_PORT_9464_TCP: 'tcp://10.0.0.1:9464',
      CARDAUTH_PORT_9464_TCP_ADDR: '10.0.0.1',
    };
    assert.deepEqual(collected({ env }).problems, []);
    assert.equal(collected({ env: { CARDAUTH_PORT: '9464' } }).problems.length, 1);
  });

  it('is not fooled by names from Object.prototype', () => {
    assert.deepEqual(collected({ env: { CARDAUTH_: '1' } }).problems.length, 1);
    assert.deepEqual(collected({ flags: { constructor: 'x' } }).problems.length, 1);
  });
});

describe('spelling', () => {
  it('measures insertions, deletions and replacements', () => {
    assert.equal(editDistance('kitten', 'sitting'), 3);
    assert.equal(editDistance('', 'abc'), 3);
    assert.equal(editDistance('same', 'same'), 0);
  });

  it('suggests nothing that is far away', () => {
    assert.equal(closest('abc', ['xyz', 'abd']), 'abd');
    assert.equal(closest('abc', ['uvwxyz']), undefined);
  });
});
