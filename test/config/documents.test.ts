import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseEnv } from 'node:util';
import * as z from 'zod';
import { loadConfig } from '../../src/config/config.ts';
import { environmentSchema } from '../../src/config/environment-schema.ts';
import { envExample, variablesTable } from '../../src/config/documents.ts';
import { secretTexts } from '../../src/config/secrets.ts';
import { settingsTable, shownSettings } from '../../src/config/show.ts';
import { variables } from '../../src/config/variables.ts';

const root = new URL('../../../', import.meta.url);
const noFile = (): never => assert.fail('no file is read');

describe('generated documents', () => {
  it('.env.example is what the table of variables says', () => {
    const expected = envExample();
    const actual = readFileSync(new URL('.env.example', root), 'utf8');
    assert.equal(
      actual,
      expected,
      'out of date: run `npm run build && npx cardauth config example > .env.example`',
    );
  });

  it("the README's table, between its markers, is what the table of variables says", () => {
    const readme = readmeText();
    if (!readme.includes('<!-- config:start -->')) return;
    const table = readme.split('<!-- config:start -->\n')[1]?.split('<!-- config:end -->')[0];
    assert.equal(
      table,
      variablesTable(),
      'out of date: put the output of `npx cardauth config example --format markdown` between the markers',
    );
  });

  it('the example, with its lines uncommented, names every variable and only those', () => {
    const uncommented = envExample().replace(/^#(?=[A-Z_]+=)/gm, '');
    const names = variables.map(({ name }) => name);
    assert.deepEqual(Object.keys(parseEnv(uncommented)).sort(), names.sort());
  });

  it('every example is accepted by its own rule, beside the others of its group', () => {
    for (const { name, example, group } of variables) {
      if (example === undefined) continue;
      const examples = variables.filter((one) => one.group === group && one.example !== undefined);
      const env = Object.fromEntries(examples.map((one) => [one.name, one.example]));
      const loaded = loadConfig({ env, readFile: noFile, groups: [group] });
      const problems = loaded.ok ? [] : loaded.problems.filter((problem) => problem.variables.includes(name));
      assert.deepEqual(problems, [], name);
    }
  });
});

describe('config schema', () => {
  it('names every variable, and is met by every default and every example', () => {
    const schema = environmentSchema();
    const { properties } = schema as { properties: Record<string, unknown> };
    assert.deepEqual(Object.keys(properties).sort(), variables.map(({ name }) => name).sort());
    const parsed = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    for (const { name, default: given, example } of variables) {
      for (const text of [given, example]) {
        if (text !== undefined) assert.ok(parsed.safeParse({ [name]: text }).success, `${name}=${text}`);
      }
    }
    assert.ok(!parsed.safeParse({ CARDAUTH_ORDERS_QUEUE: 'a b' }).success);
  });

  it('shows no secret', () => {
    const text = JSON.stringify(environmentSchema());
    for (const { secret, example, default: given } of variables)
      if (secret === true && example !== undefined && example !== given) assert.ok(!text.includes(example));
  });
});

function readmeText(): string {
  try {
    return readFileSync(new URL('README.md', root), 'utf8');
  } catch {
    return '';
  }
}

describe('config show', () => {
  const env = {
    AMQP_URL: 'amqp://worker:pass-word-1@127.0.0.1:5672/vh,amqps://rabbit.example',
    DATABASE_URL: 'postgres://app:pass%20word-2@127.0.0.1/orders?password=pass-word-3',
    CARDAUTH_GATEWAY_API_KEY: 'sk_test_canary',
    CARDAUTH_GATEWAY_URL: 'https://user:pass-word-4@gw.example',
    CARDAUTH_FINGERPRINT_KEY: 'fingerprint-canary',
  };
  const loaded = loadConfig({ env, readFile: noFile, groups: [] });

  it('masks secrets and keeps what helps', () => {
    const table = settingsTable(loaded.settings);
    assert.doesNotMatch(table, /pass-word|pass%20word|canary/);
    assert.match(table, /amqp:\/\/worker:\*{4}@127\.0\.0\.1:5672\/vh,amqps:\/\/rabbit\.example +environment/);
    assert.match(table, /postgres:\/\/app:\*{4}@127\.0\.0\.1\/orders\?\*{4} +environment/);
    assert.match(table, /CARDAUTH_GATEWAY_API_KEY +\*{4} +environment/);
    assert.match(table, /CARDAUTH_HTTP_PORT +9464 +default/);
    assert.match(table, /CARDAUTH_CARD_KEY +\(none: .+\) +unset/);
  });

  for (const broken of [
    'amqp://u:12/secretpart@h',
    'amqp://u:12#secretpart@h',
    'amqp://u:12?secretpart@h',
    'secretpart',
  ]) {
    it(`masks a URL whose password is not encoded: ${broken}`, () => {
      const { settings } = loadConfig({ env: { AMQP_URL: broken }, readFile: noFile, groups: [] });
      const shown = shownSettings(settings).find(({ name }) => name === 'AMQP_URL');
      assert.equal(shown?.value, '****');
    });
  }

  it('lists the texts that no log line may contain', () => {
    const full = loadConfig({
      env: { ...env, CARDAUTH_GATEWAY_URL: '' },
      readFile: noFile,
      groups: ['broker', 'database', 'gateway', 'orders'],
    });
    assert.ok(full.ok);
    assert.deepEqual(
      new Set(secretTexts(full.config)),
      new Set([
        'pass-word-1',
        'pass%20word-2',
        'pass word-2',
        'pass-word-3',
        'sk_test_canary',
        'fingerprint-canary',
      ]),
    );
  });
});
