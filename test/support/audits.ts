import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { type Asked, askedBy } from './grants.ts';
import type { AuditEvent } from './kube.ts';

/** The operator, as a real API server knows it. */
export const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';

/** One that only observes, by deploy/observer.yaml. */
export const OBSERVER = 'system:serviceaccount:routedip-observer:routedip-observer';

/** What the operator of one stage has asked the API server for. */
export interface Audit {
  /** The test file. */
  readonly file: string;
  readonly asked: readonly Asked[];
  /** See Cluster. */
  readonly forbidden: readonly string[];
}

/** The folder in which a run of all scenarios against real API servers gathers what was asked; undefined for other runs. */
export const auditsFolder = (): string | undefined => process.env.TEST_AUDITS;

/** Keeps what the operator has asked for by this log, for the test that compares all of it with the roles. Does nothing in other runs. */
export function keepAudit(log: readonly AuditEvent[], forbidden: Iterable<string>): void {
  const folder = auditsFolder();
  if (folder === undefined) return;
  const file = basename(expect.getState().testPath ?? '');
  const audit: Audit = { file, asked: askedBy(OPERATOR, log), forbidden: [...forbidden] };
  writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify(audit));
}

/** All that were kept. */
export function keptAudits(): readonly Audit[] {
  const folder = auditsFolder();
  if (folder === undefined) return [];
  return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Audit);
}
