import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A numbered file of the folder `migrations`; never edited once it has been applied anywhere. */
export interface Migration {
  readonly version: number;
  /** The file's name. */
  readonly name: string;
  /** SHA-256 of the file's text, in hex. */
  readonly checksum: string;
  readonly sql: string;
}

/** `migrations/` of this package, as seen from dist/src/adapters/postgres. */
const FOLDER = join(import.meta.dirname, '../../../../migrations');
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/;

/** All migrations, in their order. Throws when the folder is missing or does not hold 1, 2, 3, ... */
export function readMigrations(folder: string = FOLDER): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name, index) => {
    const version = Number(FILE_NAME.exec(name)?.[1]);
    if (version !== index + 1) {
      throw new Error(
        `migrations/${name}: expected ${String(index + 1).padStart(4, '0')}-<what-it-does>.sql here`,
      );
    }
    const sql = readFileSync(join(folder, name), 'utf8');
    return { version, name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
  });
}
