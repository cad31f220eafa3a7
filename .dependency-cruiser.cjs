/** The import directions of ARCHITECTURE.md; an import against them breaks the build. */
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: allowed },
});
const soleImporter = (pkg, path) => ({
  name: `only-${path.replaceAll('/', '-')}-imports-${pkg}`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${path}/` },
  to: { path: `node_modules/(@types/)?${pkg}/` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('domain-is-pure', '^src/domain/', ['^src/domain/'], 'the domain imports itself only'),
    only(
      'topology-is-general',
      '^src/topology/',
      ['^src/topology/'],
      'the runtime knows no cards, orders or brokers',
    ),
    only('ports-speak-domain', '^src/ports/', ['^src/ports/', '^src/domain/'], 'ports import domain types'),
    only('bolts', '^src/bolts/', ['^src/(bolts|domain|ports|topology)/'], 'bolts never know an adapter'),
    only('spouts', '^src/spouts/', ['^src/(spouts|domain|ports|topology)/'], 'spouts never know an adapter'),
    only('ops', '^src/ops/', ['^src/(ops|domain|ports|topology)/'], 'ops never know an adapter'),
    {
      name: 'adapters-know-no-other-adapter',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/', pathNot: ['^src/adapters/$1/', '^src/(domain|ports|topology)/'] },
    },
    only(
      'simulator-stands-alone',
      '^src/simulator/',
      ['^src/simulator/'],
      'the oracle of the tests shares no code with what it judges',
    ),
    only(
      'telemetry',
      '^src/telemetry/',
      ['^src/(telemetry|domain|ports|topology)/'],
      'telemetry reads, it drives nothing',
    ),
    soleImporter('amqplib', 'adapters/rabbitmq'),
    soleImporter('pg', 'adapters/postgres'),
    soleImporter('undici', 'adapters/gateway'),
    soleImporter('opossum', 'adapters/gateway'),
    soleImporter('jose', 'adapters/jose'),
    {
      name: 'nothing-needs-the-bench',
      severity: 'error',
      from: { path: '^(src|test)/', pathNot: '^test/bench/' },
      to: { path: '^bench/' },
    },
    { name: 'no-test-in-src', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    {
      name: 'no-dev-dependency-in-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
