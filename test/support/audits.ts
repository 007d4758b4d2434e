import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Asked } from './grants.ts';

/** What the operator of one stage has asked the API server for. */
export interface Audit {
  /** The test file. */
  readonly file: string;
  readonly asked: readonly Asked[];
  /** Resources, by their plural names, that a test has taken from the operator for a while. */
  readonly forbidden: readonly string[];
}

/** The folder in which a run of all scenarios against real API servers gathers what was asked; undefined for other runs. */
export const auditsFolder = (): string | undefined => process.env.TEST_AUDITS;

/** Keeps an audit for the test that compares all of them with the roles. Does nothing in other runs. */
export function keepAudit(audit: Audit): void {
  const folder = auditsFolder();
  if (folder !== undefined) writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(audit));
}

/** All that were kept. */
export function keptAudits(): readonly Audit[] {
  const folder = auditsFolder();
  if (folder === undefined) return [];
  return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Audit);
}
