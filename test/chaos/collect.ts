import pg from 'pg';
import { connectBroker } from '../support/broker-client.ts';
import { record } from './files.ts';
import { PARKED_QUEUE, type Stage } from './stage.ts';

/** A line of database.ndjson: a row of the schema `cardauth`. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** A line of parked.ndjson. */
export interface ParkedCopy {
  readonly messageId: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  /** As text: upstream's bodies are UTF-8. */
  readonly body: string;
}

/** Writes down what is in the database and in the parking lot, with nobody working any more. */
export async function collectEvidence(stage: Stage, pool: pg.Pool): Promise<void> {
  const { folder, cluster } = stage;
  const tables = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'cardauth' and table_type = 'BASE TABLE' order by 1`,
  );
  for (const { name: table } of tables.rows) {
    const { rows } = await pool.query<{ row: DumpedRow['row'] }>(
      `select to_jsonb(t) as row from cardauth.${pg.escapeIdentifier(table)} t`,
    );
    record(folder, 'database', ...rows.map(({ row }) => ({ table, row })));
  }

  const client = await connectBroker(cluster.nodes[0]?.url ?? '');
  for (;;) {
    const message = await client.take(PARKED_QUEUE);
    if (message === undefined) break;
    const { body, headers, properties } = message;
    record(folder, 'parked', {
      messageId: properties.messageId as unknown,
      headers,
      body: body.toString('utf8'),
    });
  }
  await client.close();
}
