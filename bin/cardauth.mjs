#!/usr/bin/env node
import { existsSync } from 'node:fs';

const entry = new URL('../dist/src/cli/cardauth.js', import.meta.url);
if (!existsSync(entry)) {
  console.error('cardauth: not built yet; run `npm ci` or `npm run build` in the project folder.');
  process.exit(78);
}
await import(entry.href);
