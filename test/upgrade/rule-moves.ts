import type { History, Mark, ProviderCall } from './history.ts';

/** An address leaves a node only after the scenario has failed that node, and is taken from none unless its object is removed. It is assigned once for each move; a second time, to the same
 *  node, only where nobody could know of the first: its answer was lost, or its leader has ended since. */
export function movesExplained({ calls, marks }: History): readonly string[] {
  const wrongs: string[] = [];
  const last = new Map<string, ProviderCall>();
  for (const call of calls.toSorted((a, b) => a.at - b.at)) {
    if (call.kind === 'unassign' && !isRemoved(marks, call)) wrongs.push(`${call.subject} was unassigned`);
    if (call.kind !== 'assign') continue;
    const before = last.get(call.subject);
    const wrong = before ? whyWrong(before, call, marks) : null;
    if (wrong !== null) wrongs.push(wrong);
    // One that was refused has moved nothing; sent it was all the same.
    if (call.accepted !== false) last.set(call.subject, call);
  }
  return wrongs;
}

function whyWrong(before: ProviderCall, call: ProviderCall, marks: readonly Mark[]): string | null {
  const { subject, node } = call;
  if (before.node === node) {
    const isUnknown = before.accepted === null || marks.some(({ kind, at }) => kind === 'leader ends' && at >= before.at && at <= call.at);
    return isUnknown ? null : `${subject} was assigned to ${node} twice, by ${before.by} and by ${call.by}`;
  }
  return isDown(marks, before.node ?? '', call.at)
    ? null
    : `${subject} was moved from ${before.node}, which was well, to ${node} by ${call.by}`;
}

/** Whether the scenario had failed the node at that time. */
export function isDown(marks: readonly Mark[], node: string, at: number): boolean {
  const latest = marks.filter((mark) => 'node' in mark && mark.node === node && mark.at <= at).at(-1);
  return latest?.kind === 'down';
}

const isRemoved = (marks: readonly Mark[], { subject, at }: ProviderCall): boolean =>
  marks.some((mark) => mark.kind === 'removed' && mark.address === subject && mark.at <= at);
