import { readFileSync } from 'node:fs';
import { parseAllDocuments, stringify } from 'yaml';
import type { MigrateGSM } from '../adapters/cli/migrate.ts';
import { connect, type Identity } from '../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../adapters/kubernetes/client/kube-config.ts';
import { KubernetesMigrationWriter } from '../adapters/kubernetes/writer/migration-writer.ts';
import { ipGroupsOf, type SegmentObject } from '../machines/migration/group-segment-mapping.ts';
import type { Terminal } from './terminal.ts';

const KIND = 'GroupSegmentMapping';
const STDIN = 0;

/** `routedip-operator migrate gsm`. Resolves with the exit code: 0, 1 when the mappings cannot be read, 3 when there are messages about some of them. */
export async function migrateGSM({ file, kubeconfig }: MigrateGSM, { out, problem }: Terminal, identity: Identity): Promise<number> {
  const said: string[] = [];
  let mappings: readonly SegmentObject[];
  try {
    mappings =
      file === undefined ? await mappingsOf(kubeconfig, identity) : mappingsIn(readFileSync(file === '-' ? STDIN : file, 'utf8'), said);
  } catch (error) {
    problem(`cannot read ${KIND}s: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
  if (mappings.length === 0) said.push(`there is no ${KIND}`);
  const { groups, problems } = ipGroupsOf(mappings);
  if (groups.length > 0) out(groups.map((group) => stringify(group)).join('---\n'));
  for (const text of [...said, ...problems]) problem(text);
  return said.length + problems.length === 0 ? 0 : 3;
}

async function mappingsOf(kubeconfig: string | undefined, identity: Identity): Promise<readonly SegmentObject[]> {
  const connection = connect(loadConfig(kubeconfig), identity);
  try {
    return await new KubernetesMigrationWriter(connection).mappings();
  } finally {
    await connection.close();
  }
}

interface Manifest {
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown };
  readonly spec?: unknown;
  readonly items?: unknown;
}

/** The mappings in a text of documents, lists or single objects; other kinds are reported. @throws Error for invalid YAML */
function mappingsIn(text: string, said: string[]): readonly SegmentObject[] {
  const documents = parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return objectsIn(document.toJS());
  });
  return documents.flatMap(({ kind, metadata, spec }) => {
    const name = metadata?.name;
    if (kind === KIND && typeof name === 'string') return [{ name, spec }];
    said.push(`${String(kind ?? 'something')} ${String(name ?? 'without a name')} is left out: it is no ${KIND}`);
    return [];
  });
}

function objectsIn(value: unknown): readonly Manifest[] {
  if (value === null || value === undefined) return [];
  const manifest = (typeof value === 'object' ? value : {}) as Manifest;
  return Array.isArray(manifest.items) ? manifest.items.flatMap(objectsIn) : [manifest];
}
