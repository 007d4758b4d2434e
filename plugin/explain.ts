import type { JournalEntry } from '../actors/ports/records.ts';
import { type Candidate, candidatesOf } from './candidates.ts';
import { journalText, readJournal } from './journal.ts';
import { type Gathered, gather, type Objects } from './objects.ts';
import { type Owner, ownersOf, ownerText } from './owners.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import type { Row } from './row.ts';
import { rowsOf, statusText } from './status.ts';
import { data, table } from './table.ts';

/** Number of transitions shown; `journal` has the others. */
const LAST = 5;

/** `kubectl routedip explain <address>`: what `status` says of it, how each node stands to it, and what happened last. Parts that cannot be read are left out and reported. */
export async function explain(session: Session, { address }: { readonly address: string }): Promise<ExitCode> {
  const { objects, problems } = await gathered(session);
  const owners = ownersOf(objects, address);
  const [owner, ...others] = owners;
  if (!owner) throw new Error([...problems, `no FloatingIPPool and no RoutedIP that can be seen has ${address}`].join('; '));
  const said = [...problems];
  const had = async <T>(what: Promise<T>): Promise<T | null> =>
    what.catch((error: unknown) => {
      said.push(error instanceof Error ? error.message : String(error));
      return null;
    });
  const candidates = await had(candidatesOf(owner, address, objects, session.facts));
  const entries = (await had(readJournal(session, owner)))?.entries.slice(-LAST) ?? null;
  const rows = rowsFor(objects, owner, address);
  const answer = { address, rows, candidates, last: entries, others: others.map(ownerText), problems: said };
  session.out(data(session, answer) ?? text(session, { address, owner, others, rows, candidates, entries }));
  for (const each of said) session.problem(each);
  if (candidates === null) return EXIT.failed;
  return rows.some(({ attention }) => attention) ? EXIT.attention : EXIT.ok;
}

/** Objects of the whole cluster, since others may have the nodes; else of the requested namespace. */
async function gathered(session: Session): Promise<Gathered> {
  const parts = ['pools', 'routedIPs'] as const;
  const all = await gather({ ...session, namespace: null }, parts);
  if (all.problems.length === 0 || session.namespace === null) return all;
  const own = await gather(session, parts);
  if (own.problems.length > 0) return own;
  return { ...own, problems: all.problems.map((problem) => `what other namespaces have on the nodes is not seen: ${problem}`) };
}

const rowsFor = (objects: Objects, owner: Owner, address: string): readonly Row[] => {
  const { name, namespace = '' } = owner.object.metadata;
  const rows = rowsOf({ ...objects, ips: [], groups: [], services: [], recordSets: [] }, null);
  return rows.filter((row) => row.address === address && row.kind === owner.kind && row.name === name && row.namespace === namespace);
};

interface Explained {
  readonly address: string;
  readonly owner: Owner;
  readonly others: readonly Owner[];
  readonly rows: readonly Row[];
  readonly candidates: readonly Candidate[] | null;
  readonly entries: readonly JournalEntry[] | null;
}

function text({ now }: Session, { address, owner, others, rows, candidates, entries }: Explained): readonly string[] {
  const also = others.map((other) => `${ownerText(other)} lists ${address} too.`);
  return [
    `${address} of ${ownerText(owner)}`,
    ...also,
    '',
    ...statusText(rows, now),
    ...(candidates ? ['', ...candidatesText(candidates)] : []),
    ...(entries ? ['', 'Last transitions:', ...journalText(entries, now)] : []),
  ];
}

const candidatesText = (candidates: readonly Candidate[]): readonly string[] =>
  candidates.length === 0
    ? ['No node has the labels that are asked for.']
    : table(
        ['NODE', 'VERDICT', 'WHY'],
        candidates.map(({ node, verdict, why }) => [node, verdict, why]),
      );
