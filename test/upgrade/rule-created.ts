import type { History, ProviderCall } from './history.ts';

/** As many addresses are created as are wanted, at rest exactly so many; no DNS record and no rule of a firewall is added that is there, and no address is given to two Services. */
export function createdOnce({ calls, stages, doubles }: History): readonly string[] {
  const wrongs = stages
    .filter(({ rest }) => rest.created !== rest.wanted)
    .map(({ number, rest }) => `at the end of stage ${number} ${rest.created} addresses had been created, and ${rest.wanted} wanted`);
  return [...wrongs, ...doubles, ...addedTwice(calls, 'dns'), ...addedTwice(calls, 'firewall')];
}

function addedTwice(calls: readonly ProviderCall[], what: 'dns' | 'firewall'): readonly string[] {
  const there = new Set<string>();
  const wrongs: string[] = [];
  for (const { kind, subject, accepted, by } of calls.toSorted((a, b) => a.at - b.at)) {
    if (accepted === false) continue;
    if (kind === `${what}-` || kind === 'dns~') forget(there, subject);
    if (kind !== `${what}+`) continue;
    if (there.has(subject)) wrongs.push(`${subject} was added by ${by} though it was there`);
    there.add(subject);
  }
  return wrongs;
}

/** What is removed or changed is not always named in full. */
function forget(there: Set<string>, subject: string): void {
  for (const one of there) if (one.startsWith(subject)) there.delete(one);
}
