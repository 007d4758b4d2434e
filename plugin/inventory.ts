import { type Account, type Holding, INVENTORY_KEY, INVENTORY_NAME, type Inventory, type Totals } from '../machines/status/inventory.ts';
import { EXIT, type ExitCode, Refused, type Session } from './ports.ts';
import { age, data, table } from './table.ts';

/** A running leader writes it at least every five minutes. */
const STALE_MS = 600_000;

interface Listed extends Holding {
  readonly of: Account;
}

/** `kubectl routedip inventory`: what the operator has last recorded of the accounts, whether it runs now or not. */
export async function inventory(session: Session, { orphans }: { readonly orphans: boolean }): Promise<ExitCode> {
  const { at, accounts } = await readInventory(session);
  const isWanted = ({ standing }: Holding): boolean => !orphans || standing === 'orphan';
  const shown = accounts.map((account) => ({ ...account, addresses: account.addresses.filter(isWanted) }));
  const ago = session.now - Date.parse(at);
  const problems = [
    ...accounts.flatMap(({ account, problem }) => (problem === null ? [] : [`${account}: ${problem}`])),
    ...(ago > STALE_MS ? [`no operator has looked for ${age(ago)}: this is what was so then`] : []),
  ];
  session.out(data(session, { at, accounts: shown, problems }) ?? inventoryText(shown, session));
  for (const problem of problems) session.problem(problem);
  return problems.length > 0 || accounts.some(({ totals }) => totals?.orphans) ? EXIT.attention : EXIT.ok;
}

/** @throws Error that says what is missing */
async function readInventory({ api, operatorNamespace }: Session): Promise<Inventory> {
  const path = `/api/v1/namespaces/${encodeURIComponent(operatorNamespace)}/configmaps/${INVENTORY_NAME}`;
  const object = (await api.get(path).catch((error: unknown) => {
    if (!(error instanceof Refused)) throw error;
    throw new Error(`${error.message}. The inventory is of all accounts; what has an address in your namespaces is told by status`);
  })) as { readonly binaryData?: Readonly<Record<string, string>> } | null;
  const packed = object?.binaryData?.[INVENTORY_KEY];
  if (packed === undefined)
    throw new Error(
      `there is no inventory in namespace ${operatorNamespace}: the operator writes one within a minute once it leads. --operator-namespace says where it runs`,
    );
  const stream = new Blob([Buffer.from(packed, 'base64')]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text()) as Inventory;
}

export function inventoryText(accounts: readonly Account[], { output, now }: Pick<Session, 'output' | 'now'>): readonly string[] {
  const listed = accounts.flatMap((of): readonly Listed[] => of.addresses.map((each) => ({ ...each, of })));
  const columns = Object.entries(COLUMNS).filter(([, { wide }]) => output === 'wide' || !wide);
  const rows = listed.map((each) => columns.map(([, { text }]) => text(each, now)));
  const heads = columns.map(([head]) => head);
  return [...(rows.length > 0 ? [...table(heads, rows), ''] : []), ...accounts.map((account) => summary(account, now))];
}

interface Column {
  readonly wide?: true;
  readonly text: (listed: Listed, now: number) => string;
}

const COLUMNS: Readonly<Record<string, Column>> = {
  ACCOUNT: { text: ({ of }) => of.account },
  ADDRESS: { text: ({ address }) => address },
  FAMILY: { wide: true, text: ({ family }) => family },
  REGION: { wide: true, text: ({ region }) => region },
  WHERE: { text: ({ node, machine }) => node ?? machine ?? '' },
  MACHINE: { wide: true, text: ({ machine }) => machine ?? '' },
  WHOSE: { text: whose },
  'MADE FOR': { wide: true, text: ({ madeFor }) => madeFor ?? '' },
  MADE: { text: ({ madeAt }, now) => (madeAt === null ? '' : age(now - Date.parse(madeAt))) },
  'A MONTH': { text: ({ costPerMonth, of }) => money(costPerMonth, of) },
};

function whose({ standing, owner, madeFor }: Holding): string {
  if (standing === 'elsewhere') return 'outside this cluster';
  if (standing === 'unmanaged') return 'nobody, and yet on a node';
  return owner ?? `nobody${madeFor === null ? '' : `, made for ${madeFor}`}`;
}

const money = (cost: number | null, { currency }: Account): string => {
  if (cost === null) return 'unknown';
  return cost === 0 ? 'free' : `${cost.toFixed(2)} ${currency}`;
};

function summary(of: Account, now: number): string {
  const { account, readAt, totals, note } = of;
  if (readAt === null || totals === null) return `${account}: not known${note === null ? '' : `, since ${note}`}`;
  const { addresses, costPerMonth } = totals;
  const counted = addresses === 0 ? 'no addresses' : `${addresses} ${addresses === 1 ? 'address' : 'addresses'}, ${orphansText(totals)}`;
  const cost = costPerMonth === null ? 'cost unknown' : `${money(costPerMonth, of)}${costPerMonth > 0 ? ' a month' : ''}`;
  return `${account}: ${counted}${addresses === 0 ? '' : `; ${cost}`}. Read ${age(now - Date.parse(readAt))} ago`;
}

function orphansText({ orphans }: Totals): string {
  if (orphans === 0) return 'no orphans';
  return orphans === 1 ? '1 orphan that nobody in this cluster claims' : `${orphans} orphans that nobody in this cluster claims`;
}
