import type { Act, CallKind, History, ProviderCall, StageRecord, Version } from './history.ts';

const COLUMNS: Readonly<Record<string, readonly CallKind[]>> = {
  assign: ['assign', 'unassign'],
  create: ['create', 'delete'],
  firewall: ['firewall+', 'firewall-'],
  DNS: ['dns+', 'dns~', 'dns-'],
};
const HEAD = ['stage', 'leads', 'follows', 's', ...Object.keys(COLUMNS), 'what happened'];

/** The stages of a play, each with the calls that changed something at a provider: how many the old version sent and how many the new one, where that is known. */
export function tableOf({ stages, calls, acts, processes }: History, notes: readonly string[]): string {
  const isKnown = calls.every(({ by }) => by !== null);
  const rows = stages.map((stage, index) => {
    const within = calls.filter(({ at }) => at >= stage.from && at < stage.to);
    const counts = Object.values(COLUMNS).map((kinds) =>
      countOf(
        within.filter(({ kind }) => kinds.includes(kind)),
        isKnown,
      ),
    );
    const own = acts.filter((act) => act.stage === stage.number);
    const said = [
      `${own.filter(({ to }) => to !== null).length} of ${own.length} done`,
      slowest(own),
      ...(notes[index] ? [notes[index]] : []),
    ].join('; ');
    return [`${stage.number}`, stage.leads, stage.follows ?? '-', seconds(stage), ...counts, said];
  });
  const widths = HEAD.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const aside = processes.filter(({ setAside }) => setAside > 0).map(({ name, setAside }) => `${setAside} by ${name}`);
  const records = `stored records set aside and rebuilt: ${aside.join(', ') || 'none'}`;
  return [line(HEAD), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line), records].join('\n');
}

function slowest(acts: readonly Act[]): string {
  const [first] = acts.toSorted((a, b) => durationOf(b) - durationOf(a));
  return first ? `slowest, ${(durationOf(first) / 1_000).toFixed(1)} s: ${first.what}` : '';
}

const durationOf = ({ from, to }: Act): number => (to ?? Number.POSITIVE_INFINITY) - from;

const seconds = ({ from, to }: StageRecord): string => `${Math.round((to - from) / 1_000)}`;

function countOf(calls: readonly ProviderCall[], isKnown: boolean): string {
  if (!isKnown) return `${calls.length}`;
  const by = (version: Version) => calls.filter((call) => call.by === version).length;
  return `${by('old')} old, ${by('new')} new`;
}
